import Glibc
import LinuxSystem
import ToolSupport

/// A lock file beside the control sockets. It serializes the mounts of a user: otherwise two commands could each start a daemon for the
/// same directory.
package final class MountLock: Sendable {
    /// Nanoseconds.
    private static let timeout: UInt64 = 10_000_000_000
    private let file: Lock<SharedDescriptor?>

    private init(_ file: SharedDescriptor) { self.file = Lock(file) }

    /// Waits for the lock.
    /// - Returns: nil if there is no directory for it, or after 10 seconds. The mount goes on without.
    package static func acquire() -> MountLock? {
        guard let directory = try? ControlPlace.prepareDirectory(),
            let file = try? Syscall.open(
                directory + "/mount.lock", OpenFlag.readWrite | OpenFlag.create | OpenFlag.noFollow, mode: 0o600)
        else { return nil }
        let shared = SharedDescriptor(file)
        let deadline = SystemTime.monotonic() + timeout
        while flock(shared.rawValue, LOCK_EX | LOCK_NB) != 0 {
            if SystemTime.monotonic() > deadline { return nil }
            SystemTime.sleep(milliseconds: 5)
        }
        return MountLock(shared)
    }

    /// Releases the lock. Later calls do nothing.
    package func release() {
        file.withLock { file in
            if let file { flock(file.rawValue, LOCK_UN) }
            file = nil
        }
    }

    /// Closes the descriptor in the daemon. The waiting command still holds the lock and releases it.
    package func leaveToCommand() { file.withLock { $0 = nil } }
}
