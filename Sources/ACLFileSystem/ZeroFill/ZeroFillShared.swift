import BackingStore
import MountOptions

extension FileSystem {
    /// What is done to the gaps of a file. On a file system that other hosts share no byte is written: another host may have
    /// written there since this one looked, and the zeros would go over it.
    func zeroFill(of key: ObjectKey) -> MountOptions.ZeroFill {
        options.zeroFill == .write && tree.isShared(device: key.device) ? .allocate : options.zeroFill
    }
}
