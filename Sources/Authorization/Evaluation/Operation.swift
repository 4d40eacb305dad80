/// Whether a call leaves one of an object's times as it is, sets it to now, or sets it to a chosen time (docs/reference/authorization.md 6.4,
/// Q10).
public enum TimeChange: UInt8, Sendable { case omit, now, chosen }

/// How an existing object is opened (docs/reference/authorization.md 2.2).
public struct OpenIntent: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let read = OpenIntent(rawValue: 1)
    public static let write = OpenIntent(rawValue: 2)
    public static let append = OpenIntent(rawValue: 4)
    public static let truncate = OpenIntent(rawValue: 8)
    /// O_EXEC or O_SEARCH: the caller opens to execute or search, not to read.
    public static let execute = OpenIntent(rawValue: 16)
    /// O_DIRECTORY.
    public static let directory = OpenIntent(rawValue: 32)
}

/// The mask of access(2).
public struct AccessMask: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let execute = AccessMask(rawValue: 1)
    public static let write = AccessMask(rawValue: 2)
    public static let read = AccessMask(rawValue: 4)
}

/// The object that a caller asks to create, before any rule applies.
public struct CreationRequest: Sendable, Hashable {
    /// Which call asks: open and mkdir clear set-id and sticky bits, mkfifo and mknod keep them (2.2).
    public var kind: ObjectKind
    public var mode: FileMode
    public var umask: UInt16
    /// A list supplied with the call; nil when the call cannot carry one. Linux calls cannot.
    public var suppliedACL: ACL?
    public init(kind: ObjectKind, mode: FileMode, umask: UInt16, suppliedACL: ACL? = nil) {
        (self.kind, self.mode, self.umask, self.suppliedACL) = (kind, mode, umask, suppliedACL)
    }
}

/// Every operation that the authorizer decides. A request that maps to none is `.unmapped`, which is denied.
public enum Operation: Sendable, Hashable {
    case lookup
    case open(OpenIntent)
    case execute
    case access(AccessMask)
    case list
    case stat
    case readACL
    case readFlags
    case readLink
    case getXattr
    case listXattr
    case setXattr(isProtected: Bool)
    case removeXattr(isProtected: Bool)
    case truncate
    case unlink
    case removeDirectory
    case create(CreationRequest)
    case link
    case rename
    case exchange
    case chmod(FileMode)
    case chown(uid: UInt32?, gid: UInt32?)
    /// An owner that is no uid, such as a group (Q5); nil = none but the uid.
    case setOwner(GUID?)
    /// A group that is no gid; nil = none but the gid.
    case setGroup(GUID?)
    case setTimes(access: TimeChange, modification: TimeChange)
    case chflags(FileFlags)
    case setACL(ACL?)
    case clone
    case exchangeData
    case rights(Rights)
    case unmapped

    /// Whether the operation itself depends on the owner of the object, and not only the rights that it needs.
    var dependsOnOwner: Bool {
        switch self {
        case .chmod, .chown, .setOwner, .setGroup, .setTimes: true
        default: false
        }
    }

    /// Whether only the owner and root may make some values of the change.
    var isForOwners: Bool {
        switch self {
        case .chmod(let mode): mode.contains(.setUser)
        case .setTimes(let access, let modification): access == .chosen || modification == .chosen
        default: false
        }
    }

    var changesOwnership: Bool {
        switch self {
        case .chown, .setOwner, .setGroup: true
        default: false
        }
    }
}

/// The objects of one operation, by their role. An object that the operation needs and that is missing here is a programming error
/// and is denied.
public struct FactsByRole: Sendable {
    public var object: ObjectFacts?
    /// The directory that holds `object`, or the directory of a new object.
    public var parent: ObjectFacts?
    /// The existing object that a rename replaces or exchanges.
    public var target: ObjectFacts?
    /// The directory of the new name; nil when it is `parent` itself.
    public var targetParent: ObjectFacts?
    public init(
        object: ObjectFacts? = nil, parent: ObjectFacts? = nil, target: ObjectFacts? = nil,
        targetParent: ObjectFacts? = nil
    ) {
        (self.object, self.parent, self.target, self.targetParent) = (object, parent, target, targetParent)
    }
    func has(_ role: ObjectRole) -> Bool {
        switch role {
        case .object: object != nil
        case .parent: parent != nil
        case .target: target != nil
        case .targetParent: targetParent != nil
        }
    }

    /// The facts of the object in this role; nil = the operation has none.
    @inlinable public subscript(role: ObjectRole) -> ObjectFacts? {
        switch role {
        case .object: object
        case .parent: parent
        case .target: target
        case .targetParent: targetParent
        }
    }
}
