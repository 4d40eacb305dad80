/// The type of a file-system object.
public enum ObjectKind: UInt8, Sendable, CaseIterable {
    case file, directory, symlink, fifo, socket, characterDevice, blockDevice

    /// Nodes whose data does not live on the volume: neither a read-only volume nor an immutable flag
    /// stops writing *through* them (AUTHORIZATION.md 3.1, 3.8).
    @inlinable public var isSpecial: Bool {
        switch self {
        case .file, .directory, .symlink: false
        case .fifo, .socket, .characterDevice, .blockDevice: true
        }
    }
}

/// Permission bits, set-id and sticky: the 12-bit mode.
public struct FileMode: OptionSet, Sendable, Hashable {
    public var rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue & 0o7777 }
    public static let setUser = FileMode(rawValue: 0o4000)
    public static let setGroup = FileMode(rawValue: 0o2000)
    public static let sticky = FileMode(rawValue: 0o1000)
    public static let groupExecute = FileMode(rawValue: 0o010)
    public static let anyExecute = FileMode(rawValue: 0o111)
}

/// Everything about one object that a decision may read.
public struct ObjectFacts: Sendable, Hashable {
    public var kind: ObjectKind
    public var owner: UInt32
    public var group: UInt32
    public var mode: FileMode
    public var flags: FileFlags
    /// nil = no ACL; an empty list is a list.
    public var acl: ACL?
    /// An owner or group that uid and gid do not imply (a group as owner: AUTHORIZATION.md 10, Q5).
    public var ownerGUID: GUID?
    public var groupGUID: GUID?
    /// Of the backing object itself; with one the mode's group bits are its mask (AUTHORIZATION.md 10, Q22).
    public var posixACL: PosixACL?

    /// The number that stands in place of an owner or group that is no uid or gid: "not a user" (1.4, Q5).
    public static let notAnID: UInt32 = 0xFFFF_FF9B

    /// The uid that owns the object; nil when an identity of another kind does.
    var owningUser: UInt32? { ownerGUID == nil ? owner : nil }
    /// The gid of the object; nil when its group is an identity that is none.
    var owningGroup: UInt32? { groupGUID == nil ? group : nil }

    public init(
        kind: ObjectKind, owner: UInt32, group: UInt32, mode: FileMode, flags: FileFlags = [], acl: ACL? = nil,
        ownerGUID: GUID? = nil, groupGUID: GUID? = nil, posixACL: PosixACL? = nil
    ) {
        self.kind = kind
        self.owner = owner
        self.group = group
        self.mode = mode
        self.flags = flags
        self.acl = acl
        self.ownerGUID = ownerGUID
        self.groupGUID = groupGUID
        self.posixACL = posixACL
    }
}
