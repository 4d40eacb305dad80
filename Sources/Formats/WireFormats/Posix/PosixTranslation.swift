import Authorization

// docs/reference/posix-acl.md "What is stored": a POSIX ACL as entries and a mode that mean the same, and back.
//
// The owner and others are judged by the mode, and so is the owning group. A named user or group gets an entry with its rights. Entries that
// deny stand only where a caller would get more otherwise: a deny also refuses the rename of a directory (docs/reference/authorization.md 3.7).

/// A list that no entries can mean exactly (docs/reference/posix-acl.md "What has no entries").
public enum PosixRefusal: Error, Hashable, Sendable {
    /// A directory: one group has write without search, another search without write. A caller in both could create.
    case dividedWrite
    /// A sticky directory: who may write differs in a way that only an entry could say, and an entry is stronger than the sticky bit.
    case sticky
    /// Three groups have two rights each: a caller in two of them would get the third pair.
    case dividedGroups
    /// More than 128 entries.
    case tooMany(Int)
    /// Entries would be lost that no POSIX ACL says, so that getfacl(1) did not show them.
    case otherEntries
    /// The same of what new objects inherit.
    case otherInheritableEntries

    /// What is wrong and what is right.
    public var message: String {
        switch self {
        case .dividedWrite:
            "on a directory one group has w without x and another x without w, and no entries mean that; give x to the first, or take w from it"
        case .sticky:
            "in a sticky directory w cannot be given or taken by an entry as this list does; give w to all that it names, to the owning group "
                + "and to others, or to none that it names"
        case .dividedGroups:
            "three groups have two of r, w and x each, and no entries mean that; give one of them all three, or one of them less"
        case .tooMany(let count): "the list needs \(count) entries; 128 can be stored"
        case .otherEntries:
            "the object has entries that a POSIX ACL cannot say, and they would be lost; aclfs ls -le shows them, aclfs chmod +a adds one "
                + "beside them, and aclfs chmod -N removes them"
        case .otherInheritableEntries:
            "new objects in the directory inherit entries that a default ACL cannot say, and they would be lost; aclfs ls -le shows them, and "
                + "aclfs chmod -a removes them"
        }
    }
}

/// A POSIX ACL, translated.
public struct PosixTranslation: Hashable, Sendable {
    /// What a list is for.
    public enum Use: Hashable, Sendable {
        /// The access of an object that is no directory.
        case file
        /// The access of a directory.
        case directory(isSticky: Bool)
        /// What new objects in a directory get. Its entries say everything: no mode does.
        case new
    }

    /// Without flags of inheritance.
    public var entries: [ACE]
    /// The group bits of the mode that is stored, which is not the mask (`PosixList.classBits`).
    public var groupBits: UInt16

    /// - Throws: if no entries mean the same.
    public init(_ list: PosixList, for use: Use) throws(PosixRefusal) {
        var builder = PosixListBuilder(list, use)
        try builder.build()
        (entries, groupBits) = (builder.entries, builder.groupBits)
    }

    /// The list that entries and a mode are the translation of, with or without the entry that keeps the mask.
    ///
    /// - Parameters:
    ///   - entries: without flags.
    ///   - mode: the stored one.
    ///   - use: what the entries are for.
    /// - Returns: nil if they are that of no list, or of one that says no more than a mode.
    public static func list(of entries: [ACE], mode: FileMode, for use: Use) -> PosixList? {
        guard let list = PosixList(reading: entries, mode: mode, use),
            list.isExtended || use == .new, let translation = try? PosixTranslation(list, for: use)
        else { return nil }
        // A list that was not set as a POSIX ACL has no entry for the mask.
        let said = entries.contains { Principal($0.guid) == .nobody } ? translation.entries[...] : translation.entries.dropLast()
        return said.elementsEqual(entries) && (use == .new || translation.groupBits == mode.rawValue >> 3 & 7) ? list : nil
    }
}

extension PosixList {
    /// What entries say if they are a translation; that they are one is not certain yet.
    fileprivate init?(reading entries: [ACE], mode: FileMode, _ use: PosixTranslation.Use) {
        self.init(owner: mode.rawValue >> 6 & 7, group: mode.rawValue >> 3 & 7, other: mode.rawValue & 7)
        for entry in entries {
            let bits = PosixRights.bits(entry.rights)
            let isAllow = entry.kind == .allow
            switch Principal(entry.guid) {
            case .owner: if isAllow, use == .new { owner = bits }
            case .everyone: if isAllow, use == .new { other = bits }
            case .owningGroup: if isAllow { group = bits }
            case .nobody: if isAllow { mask = bits }
            case .user(let uid): users.add(uid, bits, isAllow)
            case .group(let gid): groups.add(gid, bits, isAllow)
            case .other: return nil
            }
        }
        users.sort { $0.id < $1.id }
        groups.sort { $0.id < $1.id }
        if mask == nil, !users.isEmpty || !groups.isEmpty { mask = union }
    }
}

extension [PosixList.Named] {
    fileprivate mutating func add(_ id: UInt32, _ bits: UInt16, _ isAllow: Bool) {
        if let index = firstIndex(where: { $0.id == id }) {
            if isAllow { self[index].permissions |= bits }
        } else {
            append(PosixList.Named(id, isAllow ? bits : 0))
        }
    }
}

/// Permissions as rights.
enum PosixRights {
    static let read: UInt16 = 4
    static let write: UInt16 = 2
    static let execute: UInt16 = 1
    static let all: [UInt16] = [read, write, execute]

    static func rights(_ bits: UInt16, ofDirectory isDirectory: Bool) -> Rights {
        var rights: Rights = []
        if bits & read != 0 { rights.formUnion([.read, .readExtendedAttributes]) }
        if bits & write != 0 {
            rights.formUnion([.write, .append, .writeAttributes, .writeExtendedAttributes])
            if isDirectory { rights.insert(.deleteChild) }
        }
        if bits & execute != 0 { rights.insert(.execute) }
        return rights
    }

    static func bits(_ rights: Rights) -> UInt16 {
        (rights.contains(.read) ? read : 0) | (rights.contains(.write) ? write : 0) | (rights.contains(.execute) ? execute : 0)
    }
}
