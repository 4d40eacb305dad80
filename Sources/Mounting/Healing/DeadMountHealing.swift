import LinuxSystem
import ToolSupport

extension DeadMount {
    /// A mount of ours with a dead one on it.
    package final class Healing: Sendable {
        /// Both O_PATH. Kept no longer than needed, because they keep the mounts busy.
        private let mounts: Lock<(dead: SharedDescriptor, new: SharedDescriptor)?>
        private let deadID: UInt64

        init(dead: SharedDescriptor, _ id: UInt64, new: SharedDescriptor) {
            mounts = Lock((dead, new))
            deadID = id
        }

        /// The new mount answers: the dead one goes. Only the first call does something.
        package func finish() throws(Errno) {
            guard let mounts = mounts.withLock({ $0.take() }) else { return }
            try Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }

        /// The new mount will never answer: it takes the place of the dead one, so that one dead mount is there as before.
        /// - Parameter top: what stands on the mount point now.
        package func giveUp(_ top: MountEntry?) {
            guard top?.id == deadID, let mounts = mounts.withLock({ $0.take() }) else { return }
            // Ends the connection; the mount itself stays, because another stands on it.
            try? Syscall.unmount(of: mounts.new.rawValue, flags: UnmountFlag.force)
            try? Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }
    }
}
