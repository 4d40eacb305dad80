/// The answer to "does the caller belong to this group". `unknown` never helps the caller: an allow
/// entry does not apply, a deny entry does (docs/authorization.md 1.4).
public enum Membership: Sendable, Hashable { case member, notMember, unknown }

/// Who asks. The evaluator is generic over this, so that a test's fixed table, a command's directory
/// look-up and the server's lazily read group list are the same code path without an existential.
public protocol Credential {
    /// The identity in force for this request (effective, or real for access(2)).
    var uid: UInt32 { get }
    /// The caller's group in force, nil if nobody can say; what gid 99 stands for (Q16).
    var effectiveGroup: UInt32? { get }
    /// Whether the caller belongs to the group; the effective gid counts as one of his groups.
    mutating func membership(inGroup gid: UInt32) -> Membership
    /// Whether an identity that is neither a user's nor a group's compatibility GUID covers the caller.
    mutating func membership(of guid: GUID) -> Membership
}

extension Credential {
    @inlinable public var isRoot: Bool { uid == 0 }
    public mutating func membership(of guid: GUID) -> Membership { .notMember }
    @inlinable public var effectiveGroup: UInt32? { nil }
}

/// A credential whose groups are all known: for tests, and for `explain --as`.
public struct KnownCredential: Credential, Sendable {
    public var uid: UInt32
    public var gid: UInt32
    public var groups: [UInt32]
    public var effectiveGroup: UInt32? { gid }
    public init(uid: UInt32, gid: UInt32, groups: [UInt32] = []) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
    }
    public func membership(inGroup gid: UInt32) -> Membership {
        gid == self.gid || groups.contains(gid) ? .member : .notMember
    }
}
