/// The state of the mount that decisions depend on.
public struct VolumeState: Sendable, Hashable {
    public var isReadOnly = false
    public var ignoresOwnership = false
    public var forbidsExecution = false
    /// `noacl`: the entry stage is absent and nothing is inherited (docs/authorization.md 3.4 step 7, 5.1).
    public var ignoresACLs = false
    public var securelevel = 0
    /// `grpid`: a new object's group is always the directory's (docs/authorization.md Q18).
    public var groupFromDirectory = true
    /// `suiddir`: a set-uid directory gives its owner to new objects (Q4).
    public var ownerFromSetUserDirectory = OwnerFromDirectory.unlessRoot
    /// fs.protected_hardlinks of the system (Q23).
    public var protectsHardLinks = false
    /// `unknown99`: uid and gid 99 stand for whoever asks (Q16).
    public var unknown99 = false
    public init() {}

    /// Whose new objects get the owner of a set-uid directory.
    public enum OwnerFromDirectory: UInt8, Sendable {
        /// What root makes is root's: a directory must not hand its owner what root writes in it.
        case never, unlessRoot, always
    }

    /// Flags that a flags change does not have to heed (docs/authorization.md 3.8, 6.6 rule 4).
    var flagsIgnoredByFlagsChange: FileFlags {
        securelevel > 0 ? [.userImmutable, .userAppend] : [.immutable, .appendOnly]
    }
}

/// The first stage. A policy only ever takes away; profiles compile to an implementation of this.
public protocol SandboxPolicy {
    /// Whether the policy lets these rights pass on the object that plays this part.
    func permits(_ rights: Rights, on role: NodeRole) -> Bool
}

/// No sandbox.
public struct Unconfined: SandboxPolicy, Sendable {
    public init() {}
    @inlinable public func permits(_ rights: Rights, on role: NodeRole) -> Bool { true }
}
