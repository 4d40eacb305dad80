import Authorization

/// Types, flags and rights of NFSv4 (RFC 8881 6.2.1), and what they are in a stored entry. A bit without a counterpart is an error in both
/// directions, never left out.
enum NFS4Word {
    static let inheritFlags: [(wire: UInt32, stored: ACEFlags)] = [
        (0x01, .fileInherit), (0x02, .directoryInherit), (0x04, .limitInherit), (0x08, .onlyInherit), (0x80, .inherited),
    ]
    /// The identity is a group.
    static let groupFlag: UInt32 = 0x40

    static let rights: [(wire: UInt32, stored: Rights)] = [
        (0x01, .read), (0x02, .write), (0x04, .append), (0x08, .readExtendedAttributes), (0x10, .writeExtendedAttributes),
        (0x20, .execute), (0x40, .deleteChild), (0x80, .readAttributes), (0x100, .writeAttributes), (0x1_0000, .delete),
        (0x2_0000, .readSecurity), (0x4_0000, .writeSecurity), (0x8_0000, .changeOwner), (0x10_0000, .synchronize),
    ]

    static func kind(ofType type: UInt32) throws(NFS4Error.Problem) -> ACE.Kind {
        switch type {
        case 0: .allow
        case 1: .deny
        default: throw .unknownType(type)
        }
    }

    /// - Parameter flags: of the value, without `groupFlag`.
    static func storedFlags(_ flags: UInt32) throws(NFS4Error.Problem) -> ACEFlags {
        var (rest, stored) = (flags, ACEFlags())
        for flag in inheritFlags where flags & flag.wire != 0 {
            stored.insert(flag.stored)
            rest &= ~flag.wire
        }
        if rest != 0 { throw .unknownFlags(rest) }
        return stored
    }

    static func storedRights(_ mask: UInt32) throws(NFS4Error.Problem) -> Rights {
        var (rest, stored) = (mask, Rights())
        for right in rights where mask & right.wire != 0 {
            stored.formUnion(right.stored)
            rest &= ~right.wire
        }
        if rest != 0 { throw .unknownRights(rest) }
        return stored
    }

    static func type(of entry: ACE) throws(NFS4Error.Problem) -> UInt32 {
        switch entry.kind {
        case .allow: 0
        case .deny: 1
        case nil: throw .kindWithoutForm(entry.flagsWord & 0xF)
        }
    }

    static func flags(of entry: ACE) throws(NFS4Error.Problem) -> UInt32 {
        var (rest, flags) = (entry.flags, UInt32(0))
        for flag in inheritFlags where rest.contains(flag.stored) {
            flags |= flag.wire
            rest.remove(flag.stored)
        }
        if !rest.isEmpty { throw .flagsWithoutForm(rest.rawValue) }
        return flags
    }

    static func mask(of entry: ACE) throws(NFS4Error.Problem) -> UInt32 {
        var (rest, mask) = (entry.rights, UInt32(0))
        for right in rights where rest.contains(right.stored) {
            mask |= right.wire
            rest.subtract(right.stored)
        }
        if !rest.isEmpty { throw .rightsWithoutForm(rest.rawValue) }
        return mask
    }
}
