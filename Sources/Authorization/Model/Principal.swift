/// The 16-byte identity of an entry, as two big-endian halves of its text form.
public struct GUID: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64
    @inlinable public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// The compatibility identity of a user (docs/reference/authorization.md 1.4).
    @inlinable public init(user uid: UInt32) {
        self.init(high: 0xFFFF_EEEE_DDDD_CCCC, low: 0xBBBB_AAAA_0000_0000 | UInt64(uid))
    }

    /// The compatibility identity of a group. Four group numbers would read as a well-known identity; they have a namespace of
    /// aclfs's own (docs/reference/authorization.md Q20).
    @inlinable public init(group gid: UInt32) {
        switch gid {
        case 10, 12, 16, 0xFFFF_FFFE:
            self.init(high: 0xACF5_ACF5_ACF5_4CF5, low: 0x8CF5_ACF5_0000_0000 | UInt64(gid))
        default:
            self.init(high: 0xABCD_EFAB_CDEF_ABCD, low: 0xEFAB_CDEF_0000_0000 | UInt64(gid))
        }
    }

    public static let everyone = GUID(high: 0xABCD_EFAB_CDEF_ABCD, low: 0xEFAB_CDEF_0000_000C)
    public static let owner = GUID(high: 0xABCD_EFAB_CDEF_ABCD, low: 0xEFAB_CDEF_0000_000A)
    public static let owningGroup = GUID(high: 0xABCD_EFAB_CDEF_ABCD, low: 0xEFAB_CDEF_0000_0010)
    public static let nobody = GUID(high: 0xABCD_EFAB_CDEF_ABCD, low: 0xEFAB_CDEF_FFFF_FFFE)
}

/// The subjects that an entry applies to, read from its GUID.
public enum Principal: Sendable, Hashable {
    case everyone
    /// The owner of the object.
    case owner
    /// The members of the object's group.
    case owningGroup
    case nobody
    case user(UInt32)
    case group(UInt32)
    /// An identity that only a directory service could translate.
    case other(GUID)

    @inlinable public init(_ guid: GUID) {
        switch (guid.high, guid.low >> 32) {
        case (0xABCD_EFAB_CDEF_ABCD, 0xEFAB_CDEF):
            // The well-known identities share the groups' prefix and are recognised first (1.4).
            switch UInt32(truncatingIfNeeded: guid.low) {
            case 12: self = .everyone
            case 10: self = .owner
            case 16: self = .owningGroup
            case 0xFFFF_FFFE: self = .nobody
            case let gid: self = .group(gid)
            }
        case (0xACF5_ACF5_ACF5_4CF5, 0x8CF5_ACF5): self = .group(UInt32(truncatingIfNeeded: guid.low))
        case (0xFFFF_EEEE_DDDD_CCCC, 0xBBBB_AAAA): self = .user(UInt32(truncatingIfNeeded: guid.low))
        default: self = .other(guid)
        }
    }
}
