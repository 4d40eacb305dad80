/// The state of a mount that decisions depend on.
public struct VolumeState: Sendable, Hashable {
    public var isReadOnly = false
    public var ignoresOwnership = false
    public var forbidsExecution = false
    /// `noacl`: the entry stage is absent and nothing is inherited (docs/reference/authorization.md 3.4 step 7, 5.1).
    public var ignoresACLs = false
    public var securelevel = 0
    /// `grpid`: a new object's group is always the directory's (docs/reference/authorization.md Q18).
    public var groupFromDirectory = true
    /// `suiddir`: new objects in a set-uid directory get its owner (Q4).
    public var ownerFromSetUserDirectory = OwnerFromDirectory.unlessRoot
    /// `fs.protected_hardlinks` of the system (Q23).
    public var protectsHardLinks = false
    /// `unknown99`: uid and gid 99 stand for the caller (Q16).
    public var unknown99 = false
    public init() {}

    /// Which callers' new objects get the owner of a set-uid directory.
    public enum OwnerFromDirectory: UInt8, Sendable {
        /// Objects that root creates stay root's: the owner of a directory must not get what root writes into it.
        case never, unlessRoot, always
    }

    /// Flags that do not forbid a change of flags (docs/reference/authorization.md 3.8, 6.6 rule 4).
    var flagsIgnoredByFlagsChange: FileFlags {
        securelevel > 0 ? [.userImmutable, .userAppend] : [.immutable, .appendOnly]
    }
}

/// The first stage. A policy only restricts. Profiles are compiled to an implementation of it.
public protocol SandboxPolicy {
    /// Whether the policy permits these rights on the object in this role.
    func permits(_ rights: Rights, on role: ObjectRole) -> Bool
}

/// No sandbox.
public struct Unconfined: SandboxPolicy, Sendable {
    public init() {}
    @inlinable public func permits(_ rights: Rights, on role: ObjectRole) -> Bool { true }
}
