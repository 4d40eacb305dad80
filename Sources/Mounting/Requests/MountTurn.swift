import Glibc
import LinuxSystem
import ToolSupport

/// One mount of a user comes about after the other, so that two commands do not both find that nobody serves their
/// directory yet. A lock on a file that lies beside the control sockets.
package final class MountTurn: Sendable {
    private static let patience: UInt64 = 10_000_000_000
    private let file: Lock<SharedDescriptor?>

    private init(_ file: SharedDescriptor) { self.file = Lock(file) }

    /// nil where there is no such place, or if another mount holds its turn for too long; then both go their own way.
    package static func take() -> MountTurn? {
        guard let directory = try? ControlPlace.prepareDirectory(),
            let file = try? Syscall.open(
                directory + "/mount.lock", OpenFlag.readWrite | OpenFlag.create | OpenFlag.noFollow, mode: 0o600)
        else { return nil }
        let shared = SharedDescriptor(file)
        let deadline = SystemTime.monotonic() + patience
        while flock(shared.rawValue, LOCK_EX | LOCK_NB) != 0 {
            if SystemTime.monotonic() > deadline { return nil }
            SystemTime.sleep(milliseconds: 5)
        }
        return MountTurn(shared)
    }

    package func end() {
        file.withLock { file in
            if let file { flock(file.rawValue, LOCK_UN) }
            file = nil
        }
    }

    /// In the daemon: the waiting command ends the turn.
    package func leaveToTheOther() { file.withLock { $0 = nil } }
}
