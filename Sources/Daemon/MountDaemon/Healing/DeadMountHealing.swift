import LinuxSystem
import ToolSupport

extension DeadMount {
    /// A new aclfs mount with a dead one on it.
    final class Healing: Sendable {
        /// O_PATH descriptors. They keep the mounts busy, so they are dropped at the end.
        private let mounts: Lock<(dead: SharedDescriptor, new: SharedDescriptor)?>
        private let deadID: UInt64

        init(dead: SharedDescriptor, _ id: UInt64, new: SharedDescriptor) {
            mounts = Lock((dead, new))
            deadID = id
        }

        /// Detaches the dead mount. Call when the new one answers; later calls do nothing.
        /// - Throws: the dead mount cannot be detached.
        func finish() throws(Errno) {
            guard let mounts = mounts.withLock({ $0.take() }) else { return }
            try Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }

        /// Leaves one dead mount, as before. Call when the new mount will never answer.
        /// - Parameter top: the topmost mount on the mount point.
        func abandon(_ top: MountEntry?) {
            guard top?.id == deadID, let mounts = mounts.withLock({ $0.take() }) else { return }
            // Aborts the connection. The mount itself stays, because the dead one stands on it.
            try? Syscall.unmount(of: mounts.new.rawValue, flags: UnmountFlag.force)
            try? Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }
    }
}
