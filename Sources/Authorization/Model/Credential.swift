/// Whether the caller belongs to a group. `unknown` never helps the caller: an allow entry does not apply, a deny entry does
/// (docs/reference/authorization.md 1.4).
public enum Membership: Sendable, Hashable { case member, notMember, unknown }

/// The caller. The evaluator is generic over it, so that a test's fixed table, a command's directory look-up and the daemon's
/// lazily read group list run the same code without an existential.
public protocol Credential {
    /// The uid in force for this request (effective, or real for access(2)).
    var uid: UInt32 { get }
    /// The gid in force, which id 99 stands for (Q16); nil if it is unknown.
    var effectiveGroup: UInt32? { get }
    /// Whether the caller is this user. Unknown for an id under which another user may act.
    mutating func membership(ofUser uid: UInt32) -> Membership
    /// Whether the caller belongs to the group. The gid in force counts.
    mutating func membership(inGroup gid: UInt32) -> Membership
    /// Whether the caller belongs to an identity that is no compatibility GUID of a user or group.
    mutating func membership(of guid: GUID) -> Membership
    /// The capabilities of the caller that count over an object (3.12): its owner and group are ids of the caller's user namespace.
    /// nil: those over the whole file system. Reading them may cost more than a decision.
    mutating func capabilities(over object: ObjectFacts?) -> Capabilities
    /// Whether the caller's user namespace has these ids.
    mutating func reaches(user uid: UInt32?, group gid: UInt32?) -> Bool
    /// Whether it is that of the file system.
    var reachesEverything: Bool { mutating get }
    /// The user or group that such an identity stands for here; nil if nothing translates it (docs/reference/identity.md "Identities from elsewhere").
    func translation(of guid: GUID) -> Principal?
}

extension Credential {
    /// Whether the caller is root as 3.5 has it.
    @inlinable public var isRoot: Bool { mutating get { uid == 0 && capabilities(over: nil).isSuperset(of: .ofRoot) } }
    /// Whether the caller may make devices.
    var makesDevices: Bool { mutating get { capabilities(over: nil).contains(.mknod) } }
    /// Where nothing is known of a process, root is taken to have all and every other user none.
    @inlinable public func capabilities(over object: ObjectFacts?) -> Capabilities { uid == 0 ? .all : [] }
    @inlinable public func reaches(user uid: UInt32?, group gid: UInt32?) -> Bool { true }
    @inlinable public var reachesEverything: Bool { true }
    @inlinable public func membership(ofUser uid: UInt32) -> Membership { uid == self.uid && uid != .max ? .member : .notMember }
    @inlinable public func translation(of guid: GUID) -> Principal? { nil }
    @inlinable public mutating func membership(of guid: GUID) -> Membership {
        switch translation(of: guid) {
        case .user(let uid): membership(ofUser: uid)
        case .group(let gid): membership(inGroup: gid)
        default: .notMember
        }
    }
    @inlinable public var effectiveGroup: UInt32? { nil }
}

/// A credential whose groups are all known: for tests, and for `explain --as`.
public struct KnownCredential: Credential, Sendable {
    public var uid: UInt32
    public var gid: UInt32
    public var groups: [UInt32]
    public var capabilities: Capabilities
    public var effectiveGroup: UInt32? { gid }
    /// - Parameters:
    ///   - uid: the user.
    ///   - gid: the gid in force.
    ///   - groups: the supplementary groups.
    ///   - capabilities: nil: all of root, and none of another user.
    public init(uid: UInt32, gid: UInt32, groups: [UInt32] = [], capabilities: Capabilities? = nil) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
        self.capabilities = capabilities ?? (uid == 0 ? .all : [])
    }
    public func capabilities(over object: ObjectFacts?) -> Capabilities { capabilities }
    public func membership(inGroup gid: UInt32) -> Membership {
        gid == self.gid || groups.contains(gid) ? .member : .notMember
    }
}
