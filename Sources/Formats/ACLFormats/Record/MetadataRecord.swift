import Authorization

/// The content of a backing object's attribute: flags, identities that uid and gid do not imply, the ACL. docs/reference/record-format.md
/// describes the bytes, with an example.
public struct MetadataRecord: Sendable, Hashable {
    public var flags: FileFlags
    public var ownerGUID: GUID?
    public var groupGUID: GUID?
    /// nil = no ACL; an empty list is a list (docs/reference/authorization.md 1.3).
    public var acl: ACL?
    /// Settings of the whole volume, on the root of a backing directory only.
    public var volume: VolumeSettings?

    public init(
        flags: FileFlags = [], ownerGUID: GUID? = nil, groupGUID: GUID? = nil, acl: ACL? = nil,
        volume: VolumeSettings? = nil
    ) {
        self.flags = flags
        self.ownerGUID = ownerGUID
        self.groupGUID = groupGUID
        self.acl = acl
        self.volume = volume
    }

    /// Whether it says the same as no record: such an object needs no attribute.
    public var isEmpty: Bool { self == MetadataRecord() }
}

/// The settings of `aclfs volume`. Without a setting the mount's default applies.
public struct VolumeSettings: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let acl = VolumeSettings(rawValue: 1 << 0)
    public static let noACL = VolumeSettings(rawValue: 1 << 1)
    public static let owners = VolumeSettings(rawValue: 1 << 2)
    public static let noOwners = VolumeSettings(rawValue: 1 << 3)
}

/// Why stored bytes are no record. Every case denies access to the object (docs/reference/authorization.md Q17).
public enum MetadataRecordError: Error, Sendable, Hashable {
    case truncated(length: Int, needed: Int)
    case trailingBytes(length: Int, expected: Int)
    case badMagic
    /// Written by a later aclfs: not damaged, but unknown to this version.
    case newerVersion(UInt16)
    case badVersion
    /// Parts that this version does not define.
    case unknownParts(UInt16)
    case tooManyEntries(UInt32)
    case badChecksum(stored: UInt32, computed: UInt32)

    /// A short text for the log and for `aclfs verify`.
    public var message: String {
        switch self {
        case .truncated(let length, let needed): "truncated: \(length) bytes of at least \(needed)"
        case .trailingBytes(let length, let expected): "\(length - expected) bytes after the end of the record"
        case .badMagic: "does not begin with a record's mark"
        case .newerVersion(let version): "written by a newer aclfs (version \(version) of the record)"
        case .badVersion: "version 0 of the record does not exist"
        case .unknownParts(let parts): "unknown parts \(hexadecimal(UInt32(parts)))"
        case .tooManyEntries(let count): "\(count) entries, more than \(ACL.maximumEntryCount)"
        case .badChecksum(let stored, let computed):
            "checksum \(hexadecimal(computed)) instead of the stored \(hexadecimal(stored))"
        }
    }
}
