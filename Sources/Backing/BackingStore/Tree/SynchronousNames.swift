import LinuxSystem

extension BackingTree {
    /// Whether the backing file system is mounted with `sync` or `dirsync`, so that each of its changes of names is on the disk when the call
    /// returns. A directory with `chattr +D` does not count: no call tells of it without opening each directory.
    public var keepsNamesSynchronously: Bool {
        guard let table = try? MountInfo.ofThisProcess(), let mount = table.first(where: { $0.device == root.key.device }) else {
            return false
        }
        return mount.superOptions.split(separator: UInt8(ascii: ",")).contains {
            $0.elementsEqual("sync".utf8) || $0.elementsEqual("dirsync".utf8)
        }
    }
}
