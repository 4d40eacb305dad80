// docs/reference/authorization.md 2.2 "write on an open descriptor", ftruncate; 2.4: what an open handle may do. Rights are checked at open,
// and the handle keeps what was granted. Afterwards only its mode and the object's flags count.

/// What open granted.
public struct HandleMode: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let readable = HandleMode(rawValue: 1)
    public static let writable = HandleMode(rawValue: 2)
    /// Bytes may be added at the end only: open granted just `append`, or the object was append-only.
    public static let appendOnly = HandleMode(rawValue: 4)
}

/// An operation on a handle.
public enum HandleOperation: Sendable, Hashable {
    case read
    /// `addsAtEnd`: the kernel adds the bytes at the end, whatever the offset is.
    case write(addsAtEnd: Bool)
    case truncate
    /// Both times to now, through the handle that made a file which another user owns (Q4). Its creator may write, which does the same.
    case touch
    /// `addsBeyondEnd`: the call only reserves space beyond the end.
    case allocate(addsBeyondEnd: Bool)
}

/// Decides an operation on a handle. It needs no credential: open decided who gets the handle.
///
/// - Parameters:
///   - operation: what the caller asks.
///   - handle: what open granted.
///   - flags: the object's flags now; they bind truncation and allocation. A flag set after an open does not bind writes through
///     handles opened before (2.4).
public func authorize(_ operation: HandleOperation, through handle: HandleMode, flags: FileFlags) -> Decision {
    let refused = Decision.deny(.EPERM, .flags(.object))
    switch operation {
    case .read:
        return handle.contains(.readable) ? .allow(.implicit) : .deny(.EBADF, .precondition(.handleMode))
    case .write(let addsAtEnd):
        guard handle.contains(.writable) else { return .deny(.EBADF, .precondition(.handleMode)) }
        return handle.contains(.appendOnly) && !addsAtEnd ? refused : .allow(.implicit)
    case .truncate:
        guard handle.contains(.writable) else { return .deny(.EINVAL, .precondition(.handleMode)) }
        if handle.contains(.appendOnly) || !flags.isDisjoint(with: .appendOnly) { return refused }
        return .allow(.implicit)
    case .touch:
        guard handle.contains(.writable) else { return .deny(.EBADF, .precondition(.handleMode)) }
        return flags.isDisjoint(with: FileFlags.immutable.union(.appendOnly)) ? .allow(.implicit) : refused
    case .allocate(let addsBeyondEnd):
        guard handle.contains(.writable) else { return .deny(.EBADF, .precondition(.handleMode)) }
        if !flags.isDisjoint(with: .immutable) { return refused }
        if handle.contains(.appendOnly) || !flags.isDisjoint(with: .appendOnly), !addsBeyondEnd { return refused }
        return .allow(.implicit)
    }
}
