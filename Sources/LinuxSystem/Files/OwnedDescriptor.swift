import Glibc

/// A file descriptor with exactly one owner, closed when the owner ends.
///
/// Errors of close(2) are not reported: what must reach the disk is synced before.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// Good only while the owner lives, and an owner without a name lives no longer than the look at it:
    /// `f(try open(...).rawValue)` hands over a number that is already closed. Bind the owner first.
    public let rawValue: Int32

    /// Takes over an open descriptor.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    deinit { _ = close(rawValue) }

    /// Gives the descriptor up without closing it.
    public consuming func release() -> Int32 {
        let descriptor = rawValue
        discard self
        return descriptor
    }
}

/// A file descriptor with several owners, closed when the last one ends.
public final class SharedDescriptor: Sendable {
    /// Good only while the owner lives; see `OwnedDescriptor.rawValue`.
    public let rawValue: Int32

    /// Takes over an open descriptor.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public convenience init(_ descriptor: consuming OwnedDescriptor) {
        self.init(rawValue: descriptor.release())
    }

    deinit { _ = close(rawValue) }
}
