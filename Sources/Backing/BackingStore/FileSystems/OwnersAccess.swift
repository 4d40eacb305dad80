import Glibc
import LinuxSystem

/// Access to records for the daemon of an ordinary user.
///
/// A caller needs read permission to read `user.*` attributes and write permission to write them, the owner too. So the list of a
/// file of mode 0444 could never change, and that of mode 0 never be read. The owner may change the mode, and so does the daemon
/// during the call. Only the owner gains by that (docs/decisions/0016-an-ordinary-users-daemon.md).
public final class OwnersAccess: Sendable {
    public static let reading: UInt32 = 0o400
    public static let writing: UInt32 = 0o200

    private let user: UInt32
    /// Two threads at once would restore each other's bits as the object's own.
    private let turn = Lock(())

    /// - Parameter user: as whom the daemon runs.
    public init(user: UInt32 = geteuid()) { self.user = user }

    /// Whether the owner's read bit is missing on an object of the daemon's user.
    func isNeeded(toRead status: FileStatus) -> Bool { user != 0 && status.uid == user && status.mode & Self.reading == 0 }

    /// Reads an attribute of an object that may not be readable. Names are listed without read permission: if there is no such attribute,
    /// the mode stays as it is.
    /// - Parameters:
    ///   - name: the attribute.
    ///   - descriptor: any descriptor of the object.
    /// - Throws: `nodata` if there is none.
    public func value(_ name: UnsafePointer<CChar>, of descriptor: Int32, isDirectory: Bool = false) throws(Errno) -> [UInt8] {
        let target: XattrTarget = isDirectory ? .directory(descriptor) : .any(descriptor)
        do throws(Errno) { return try Syscall.getxattr(target, name) } catch {
            guard error == .acces, user != 0 else { throw error }
        }
        let bytes = Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
        guard try Syscall.listxattr(.any(descriptor)).contains(bytes) else { throw .nodata }
        return try with(Self.reading, on: descriptor) { () throws(Errno) in try Syscall.getxattr(.any(descriptor), name) }
    }

    /// Calls `body`, and once more with these bits if it is refused and the object is the daemon's user's.
    /// - Parameters:
    ///   - bits: `reading` or `writing`.
    ///   - descriptor: any descriptor of the object.
    ///   - body: the calls.
    /// - Throws: the error of `body`, or of a chmod.
    public func with<Value>(_ bits: UInt32, on descriptor: Int32, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
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
        // The kernel may refuse to restore the set-group-id bit.
        guard status.uid == user, status.isDirectory || status.isRegular, mode & 0o2000 == 0 else { throw .acces }
        try Syscall.fchmod(descriptor, mode: mode | bits)
        let result = Result { () throws(Errno) in try body() }
        try Syscall.fchmod(descriptor, mode: mode)
        return try result.get()
    }
}
