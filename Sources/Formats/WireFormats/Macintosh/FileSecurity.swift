import Authorization

/// Why bytes are no security information of a Mac.
public enum FileSecurityError: Error, Sendable, Hashable {
    case wrongSize(Int, needed: Int)
    case badMagic(UInt32)
    case tooManyEntries(UInt32)

    /// One sentence.
    public var message: String {
        switch self {
        case .wrongSize(let count, let needed): "\(count) bytes, where \(needed) are needed"
        case .badMagic: "does not begin with the mark 0x012CC16D"
        case .tooManyEntries(let count): "\(count) entries; a list has at most \(ACL.maximumEntryCount)"
        }
    }
}

/// The attribute `com.apple.system.Security`, in which a Mac keeps lists on file systems that have none (docs/reference/authorization.md 1.3):
/// mark, owner, group, number of entries, flags, and for each entry identity, flags and rights. All numbers are big-endian.
public struct FileSecurity: Sendable, Hashable {
    /// nil if the attribute has none.
    public var owner: GUID?
    public var group: GUID?
    public var acl: ACL?

    private static let magic: UInt32 = 0x012C_C16D
    private static let headerSize = 44
    private static let entrySize = 24
    /// In place of a number of entries.
    private static let noList: UInt32 = 0xFFFF_FFFF
    private static let noIdentity = GUID(high: 0, low: 0)

    public init(owner: GUID? = nil, group: GUID? = nil, acl: ACL?) { (self.owner, self.group, self.acl) = (owner, group, acl) }

    /// - Throws: the bytes are none, which must not count as "no list".
    public init(_ bytes: [UInt8]) throws(FileSecurityError) {
        let reader = BigEndian(bytes)
        guard let magic = reader.number32(at: 0) else { throw .wrongSize(bytes.count, needed: Self.headerSize) }
        guard magic == Self.magic else { throw .badMagic(magic) }
        guard let owner = reader.identity(at: 4), let group = reader.identity(at: 20), let count = reader.number32(at: 36),
            let flags = reader.number32(at: 40)
        else { throw .wrongSize(bytes.count, needed: Self.headerSize) }
        self.owner = owner == Self.noIdentity ? nil : owner
        self.group = group == Self.noIdentity ? nil : group
        guard count != Self.noList else {
            // The room of a list may be there without one.
            acl = nil
            return
        }
        if count > UInt32(ACL.maximumEntryCount) { throw .tooManyEntries(count) }
        let size = Self.headerSize + Int(count) * Self.entrySize
        guard bytes.count == size else { throw .wrongSize(bytes.count, needed: size) }
        var acl = ACL([], listFlags: flags)
        for offset in stride(from: Self.headerSize, to: size, by: Self.entrySize) {
            guard let identity = reader.identity(at: offset), let flags = reader.number32(at: offset + 16),
                let rights = reader.number32(at: offset + 20)
            else { throw .wrongSize(bytes.count, needed: size) }
            acl.entries.append(ACE(guid: identity, flagsWord: flags, rights: Rights(rawValue: rights)))
        }
        self.acl = acl
    }

    /// The value of the attribute.
    public var bytes: [UInt8] {
        var out = BigEndian.bytes(Self.magic)
        out += BigEndian.bytes(owner ?? Self.noIdentity) + BigEndian.bytes(group ?? Self.noIdentity)
        guard let acl else { return out + BigEndian.bytes(Self.noList) + BigEndian.bytes(0) }
        out += BigEndian.bytes(UInt32(acl.entries.count)) + BigEndian.bytes(acl.listFlags)
        for entry in acl.entries {
            out += BigEndian.bytes(entry.guid) + BigEndian.bytes(entry.flagsWord) + BigEndian.bytes(entry.rights.rawValue)
        }
        return out
    }
}
