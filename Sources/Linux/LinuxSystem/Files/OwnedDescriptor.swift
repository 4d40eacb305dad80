import Glibc

/// A file descriptor with exactly one owner, closed when the owner is destroyed.
///
/// Errors of close(2) are not reported: data that must reach the disk is synced before.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// Valid while the owner exists. A temporary owner may end before the call: in `f(try open(...).rawValue)` the number is
    /// already closed. Bind the owner to a name first.
    public let rawValue: Int32

    /// Takes ownership of an open descriptor.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    deinit { _ = close(rawValue) }

    /// Ends the ownership without closing the descriptor.
    public consuming func release() -> Int32 {
        let descriptor = rawValue
        discard self
        return descriptor
    }
}

/// A file descriptor with several owners, closed when the last one is destroyed.
public final class SharedDescriptor: Sendable {
    /// Valid while the owner exists; see `OwnedDescriptor.rawValue`.
    public let rawValue: Int32

    /// Takes ownership of an open descriptor.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public convenience init(_ descriptor: consuming OwnedDescriptor) {
        self.init(rawValue: descriptor.release())
    }

    deinit { _ = close(rawValue) }
}

extension Syscall {
    /// Sets or clears that exec(2) closes a descriptor.
    public static func setClosedByExec(_ descriptor: Int32, _ isClosed: Bool) throws(Errno) {
        if fcntl(descriptor, F_SETFD, isClosed ? FD_CLOEXEC : 0) != 0 { throw Errno(rawValue: errno) }
    }
}
