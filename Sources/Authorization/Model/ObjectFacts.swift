/// The type of a file-system object.
public enum ObjectKind: UInt8, Sendable, CaseIterable {
    case file, directory, symlink, fifo, socket, characterDevice, blockDevice

    /// Objects whose data is not on the volume. Neither a read-only volume nor an immutable flag forbids writing *through* them
    /// (docs/reference/authorization.md 3.1, 3.8).
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

/// Facts that few objects have. They are on the heap, so that copying the facts of an object copies one reference.
public final class RareFacts: Sendable, Hashable {
    public let acl: ACL?
    public let ownerGUID: GUID?
    public let groupGUID: GUID?
    public let posixACL: PosixACL?

    private init(_ acl: ACL?, _ ownerGUID: GUID?, _ groupGUID: GUID?, _ posixACL: PosixACL?) {
        (self.acl, self.ownerGUID, self.groupGUID, self.posixACL) = (acl, ownerGUID, groupGUID, posixACL)
    }

    /// - Returns: the facts, or nil if the object has none of them.
    public static func of(acl: ACL?, ownerGUID: GUID?, groupGUID: GUID?, posixACL: PosixACL?) -> RareFacts? {
        if acl == nil, ownerGUID == nil, groupGUID == nil, posixACL == nil { return nil }
        return RareFacts(acl, ownerGUID, groupGUID, posixACL)
    }

    public static func == (one: RareFacts, other: RareFacts) -> Bool {
        one === other
            || one.acl == other.acl && one.ownerGUID == other.ownerGUID && one.groupGUID == other.groupGUID
                && one.posixACL == other.posixACL
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(acl)
        hasher.combine(ownerGUID)
        hasher.combine(groupGUID)
        hasher.combine(posixACL)
    }
}

/// Everything about one object that a decision may read.
public struct ObjectFacts: Sendable, Hashable {
    public var kind: ObjectKind
    public var owner: UInt32
    public var group: UInt32
    public var mode: FileMode
    public var flags: FileFlags
    public var rare: RareFacts?

    /// nil = no ACL; an empty list is a list.
    @inlinable public var acl: ACL? {
        get { rare?.acl }
        set { rare = .of(acl: newValue, ownerGUID: ownerGUID, groupGUID: groupGUID, posixACL: posixACL) }
    }
    /// An owner that the uid does not imply (a group as owner: docs/reference/authorization.md Q5).
    @inlinable public var ownerGUID: GUID? {
        get { rare?.ownerGUID }
        set { rare = .of(acl: acl, ownerGUID: newValue, groupGUID: groupGUID, posixACL: posixACL) }
    }
    /// A group that the gid does not imply.
    @inlinable public var groupGUID: GUID? {
        get { rare?.groupGUID }
        set { rare = .of(acl: acl, ownerGUID: ownerGUID, groupGUID: newValue, posixACL: posixACL) }
    }
    /// The POSIX ACL of the backing object. If there is one, the mode's group bits are its mask (docs/reference/authorization.md Q22).
    @inlinable public var posixACL: PosixACL? {
        get { rare?.posixACL }
        set { rare = .of(acl: acl, ownerGUID: ownerGUID, groupGUID: groupGUID, posixACL: newValue) }
    }

    /// The number shown for an owner or group that is no uid or gid: "not a user" (1.4, Q5).
    public static let notAnID: UInt32 = 0xFFFF_FF9B

    /// The uid that owns the object; nil if the owner is an identity of another kind.
    var owningUser: UInt32? { ownerGUID == nil ? owner : nil }
    /// The gid of the object; nil if its group is an identity of another kind.
    var owningGroup: UInt32? { groupGUID == nil ? group : nil }

    @inlinable public init(
        kind: ObjectKind, owner: UInt32, group: UInt32, mode: FileMode, flags: FileFlags = [], rare: RareFacts?
    ) {
        self.kind = kind
        self.owner = owner
        self.group = group
        self.mode = mode
        self.flags = flags
        self.rare = rare
    }

    public init(
        kind: ObjectKind, owner: UInt32, group: UInt32, mode: FileMode, flags: FileFlags = [], acl: ACL? = nil,
        ownerGUID: GUID? = nil, groupGUID: GUID? = nil, posixACL: PosixACL? = nil
    ) {
        self.init(
            kind: kind, owner: owner, group: group, mode: mode, flags: flags,
            rare: .of(acl: acl, ownerGUID: ownerGUID, groupGUID: groupGUID, posixACL: posixACL))
    }
}
