// The second evaluator: docs/reference/authorization.md written down rule by rule, with the section number beside
// each rule and nothing made fast or short. It imports nothing and shares no code with the evaluator
// that the file system uses, so that the two can contradict each other.

/// An access control entry in the words of the vectors: `who` is "user:501", "everyone", ...
public struct ModelEntry: Sendable, Hashable {
    public var who: String
    public var kind: String
    public var rights: Set<String>
    public var flags: Set<String>
    public init(who: String, kind: String, rights: Set<String>, flags: Set<String> = []) {
        (self.who, self.kind, self.rights, self.flags) = (who, kind, rights, flags)
    }
}

/// A file-system object; `acl` nil = no ACL, empty = an ACL without entries.
public struct ModelNode: Sendable, Hashable {
    public var type: String
    public var owner: UInt32
    public var group: UInt32
    public var mode: UInt16
    public var flags: Set<String>
    public var acl: [ModelEntry]?
    public init(
        type: String, owner: UInt32, group: UInt32, mode: UInt16, flags: Set<String> = [], acl: [ModelEntry]? = nil
    ) {
        (self.type, self.owner, self.group) = (type, owner, group)
        (self.mode, self.flags, self.acl) = (mode, flags, acl)
    }
}

public struct ModelCredential: Sendable, Hashable {
    public var uid: UInt32
    public var gid: UInt32
    public var groups: [UInt32]
    public var ruid: UInt32
    public var rgid: UInt32
    /// The process supplied its own group list: the directory service is not consulted.
    public var directoryOptOut: Bool
    /// The group list could not be learnt: whoever is not known to be a member is "unknown".
    public var groupsUnknown: Bool
    /// 3.12, by the names of Linux in lower case; nil: all of root, none of others.
    public var capabilities: Set<String>?
    public init(
        uid: UInt32, gid: UInt32, groups: [UInt32] = [], ruid: UInt32? = nil, rgid: UInt32? = nil,
        directoryOptOut: Bool = false, groupsUnknown: Bool = false, capabilities: Set<String>? = nil
    ) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
        (self.ruid, self.rgid) = (ruid ?? uid, rgid ?? gid)
        (self.directoryOptOut, self.groupsUnknown) = (directoryOptOut, groupsUnknown)
        self.capabilities = capabilities
    }
}

public let allCapabilities: Set<String> = [
    "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "linux_immutable", "mknod",
]

/// The directory service: who belongs to which group, groups within groups included.
public struct ModelDirectory: Sendable, Hashable {
    public struct Group: Sendable, Hashable {
        public var users: Set<UInt32>
        public var groups: Set<UInt32>
        public init(users: Set<UInt32>, groups: Set<UInt32> = []) { (self.users, self.groups) = (users, groups) }
    }
    public var groups: [UInt32: Group]
    public init(groups: [UInt32: Group] = [:]) { self.groups = groups }
}

public struct ModelVolume: Sendable, Hashable {
    public var readOnly = false
    public var ignoreOwnership = false
    public var noExec = false
    public init(readOnly: Bool = false, ignoreOwnership: Bool = false, noExec: Bool = false) {
        (self.readOnly, self.ignoreOwnership, self.noExec) = (readOnly, ignoreOwnership, noExec)
    }
}

/// Everything about the system that is neither the caller nor the objects.
public struct ModelWorld: Sendable, Hashable {
    public var volume: ModelVolume
    public var securelevel: Int
    public var sandboxDeny: Bool
    /// Q16 (on in the vectors, off by default in a mount).
    public var unknown99 = true
    /// Q4 (off in the vectors, on by default in a mount).
    public var suiddir = false
    /// Q6: a stranger who names the current ids is refused.
    public var refusesIdleChownByStranger = true
    public init(volume: ModelVolume = ModelVolume(), securelevel: Int = 0, sandboxDeny: Bool = false) {
        (self.volume, self.securelevel, self.sandboxDeny) = (volume, securelevel, sandboxDeny)
    }
}

/// The objects an operation may touch, under the names the stages use.
public struct ModelNodes: Sendable, Hashable {
    public var parent: ModelNode?
    public var object: ModelNode?
    public var targetParent: ModelNode?
    public var target: ModelNode?
    public init(
        parent: ModelNode? = nil, object: ModelNode? = nil, targetParent: ModelNode? = nil, target: ModelNode? = nil
    ) {
        (self.parent, self.object, self.targetParent, self.target) = (parent, object, targetParent, target)
    }
}

/// One call with its arguments, as the vectors' `op`.
public struct ModelOperation: Sendable, Hashable {
    public var call: String
    /// open: O_ words; chflags: the complete new list.
    public var flags: Set<String> = []
    /// access, faccessat: R_OK, W_OK, X_OK.
    public var accessMode: Set<String> = []
    /// create and its kin, chmod.
    public var mode: UInt16?
    public var umask: UInt16 = 0
    /// mknod.
    public var type: String?
    public var name: String?
    public var uid: UInt32?
    public var gid: UInt32?
    /// utimes: "now" or "explicit".
    public var times: String?
    public var eaccess = false
    public var initialACL: [ModelEntry]?
    public var initialACLFlags: Set<String> = []
    /// authorize.
    public var rights: Set<String> = []
    public init(_ call: String) { self.call = call }
}

public enum ModelACL: Sendable, Hashable {
    case absent
    case present([ModelEntry])
}

/// The state after success; nil = not stated.
public struct ModelEffects: Sendable, Hashable {
    public var owner: UInt32?
    public var group: UInt32?
    public var mode: UInt16?
    public var flags: Set<String>?
    public var acl: ModelACL?
    public init(
        owner: UInt32? = nil, group: UInt32? = nil, mode: UInt16? = nil, flags: Set<String>? = nil,
        acl: ModelACL? = nil
    ) {
        (self.owner, self.group, self.mode, self.flags, self.acl) = (owner, group, mode, flags, acl)
    }
}

public struct ModelOutcome: Sendable, Hashable {
    public var allowed: Bool
    public var errno: String?
    public var stage: String
    public var effects: ModelEffects?
    public init(allowed: Bool, errno: String?, stage: String, effects: ModelEffects? = nil) {
        (self.allowed, self.errno, self.stage, self.effects) = (allowed, errno, stage, effects)
    }
}

/// The refusal that ends a decision.
struct Refusal: Error {
    var errno: String
    var stage: String
    init(_ errno: String, _ stage: String) { (self.errno, self.stage) = (errno, stage) }
}
