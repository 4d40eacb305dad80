import Glibc
import LinuxSystem

/// Access to records for a daemon that is an ordinary user.
///
/// `user.*` attributes are read by who may read the object and written by who may write it, and its owner is no exception: the
/// list of a file of mode 0444 could never be changed, and that of one of mode 0 not be read. Its owner may change the mode,
/// and so the daemon does for the moment of the call, to nobody's advantage but the owner's
/// (docs/decisions/0016-an-ordinary-users-daemon.md).
final class OwnersAccess: Sendable {
    static let reading: UInt32 = 0o400
    static let writing: UInt32 = 0o200

    private let user: UInt32
    /// Two at once would take each other's bits for the object's own.
    private let turn = Lock(())

    /// - Parameter user: as whom the daemon runs.
    init(user: UInt32 = geteuid()) { self.user = user }

    /// Whether the owner's own bit is missing on an object of ours.
    func isNeeded(toRead status: FileStatus) -> Bool { user != 0 && status.uid == user && status.mode & Self.reading == 0 }

    /// Tries `body`, and once more with these bits if it is refused and the object is ours.
    func with<Value>(_ bits: UInt32, on descriptor: Int32, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        do throws(Errno) { return try body() } catch {
            guard error == .acces, user != 0 else { throw error }
        }
        var result = Result<Value, Errno>.failure(.acces)
        turn.withLock { _ in result = Result { () throws(Errno) in try opened(bits, descriptor, body) } }
        return try result.get()
    }

    private func opened<Value>(
        _ bits: UInt32, _ descriptor: Int32, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let status = try Syscall.statx(descriptor)
        let mode = status.mode & 0o7777
        // The set-group-id bit may not come back.
        guard status.uid == user, status.isDirectory || status.isRegular, mode & 0o2000 == 0 else { throw .acces }
        try Syscall.fchmod(descriptor, mode: mode | bits)
        let result = Result { () throws(Errno) in try body() }
        try Syscall.fchmod(descriptor, mode: mode)
        return try result.get()
    }
}
