import Authorization

/// The entries that stand for a mode. Each value of NFSv4 ends with them, so that a reader who knows no mode sees who has access.
///
/// As with mode bits exactly one class decides (docs/reference/authorization.md 3.10): a deny follows a class that lacks what a later one has.
///
///     OWNER@ allow, [OWNER@ deny], GROUP@ allow, [GROUP@ deny], EVERYONE@ allow
///
/// They begin with the only entry that allows OWNER@ something, so that no group of them ends with another.
public enum ModeEntries {
    /// The most entries that stand for a mode.
    static let most = 5
    private static let least = 3

    /// What everyone may do whatever the mode is (docs/reference/authorization.md 3.9).
    static let always: Rights = [.readAttributes, .readSecurity, .synchronize]
    /// What the owner of an object may do whatever the mode is (docs/reference/authorization.md 3.6, 3.9).
    private static let changesOfOwner: Rights = [.writeAttributes, .writeSecurity]
    /// What the owner may do in the words of SMB, whose right to change the owner is also asked for changing the group.
    static let ofOwner = always.union(changesOfOwner).union(.changeOwner)

    /// - Parameters:
    ///   - mode: the mode; its set-id and sticky bits have no entry.
    ///   - isDirectory: whether the object contains names, which write permits to delete.
    public static func entries(for mode: FileMode, isDirectory: Bool) -> [ACE] {
        let owner = rights(of: mode.rawValue >> 6, isDirectory).union(always).union(changesOfOwner)
        let group = rights(of: mode.rawValue >> 3, isDirectory).union(always)
        let others = rights(of: mode.rawValue, isDirectory).union(always)
        var entries = [ACE(.owner, .allow, owner)]
        let deniedToOwner = group.union(others).subtracting(owner)
        if !deniedToOwner.isEmpty { entries.append(ACE(.owner, .deny, deniedToOwner)) }
        entries.append(ACE(.owningGroup, .allow, group))
        let deniedToGroup = others.subtracting(group)
        if !deniedToGroup.isEmpty { entries.append(ACE(.owningGroup, .deny, deniedToGroup)) }
        entries.append(ACE(.everyone, .allow, others))
        return entries
    }

    /// The same for a client of SMB.
    static func entriesWithOwner(for mode: FileMode, isDirectory: Bool) -> [ACE] {
        var entries = entries(for: mode, isDirectory: isDirectory)
        entries[0].rights.insert(.changeOwner)
        return entries
    }

    /// Divides a list into the entries to store and the mode that its end stands for.
    /// - Parameters:
    ///   - entries: of the value.
    ///   - isDirectory: whether the object is a directory.
    /// - Returns: the entries to store; the bits 0777 of the mode, or nil if the end stands for none: then all entries are stored.
    public static func split(_ entries: [ACE], isDirectory: Bool) -> (stored: [ACE], permissions: UInt16?) {
        for count in least...most where entries.count >= count {
            let end = Array(entries.suffix(count))
            guard let others = end.last, let owner = end.first,
                let group = end.first(where: { $0.guid == .owningGroup && $0.kind == .allow })
            else { continue }
            let permissions = bits(of: owner.rights) << 6 | bits(of: group.rights) << 3 | bits(of: others.rights)
            if self.entries(for: FileMode(rawValue: permissions), isDirectory: isDirectory) == end {
                return (Array(entries.dropLast(count)), permissions)
            }
        }
        return (entries, nil)
    }

    /// The rights that three bits of a mode give to a class (docs/reference/authorization.md 3.9).
    static func rights(of bits: UInt16, _ isDirectory: Bool) -> Rights {
        var rights: Rights = []
        if bits & 4 != 0 { rights.formUnion([.read, .readExtendedAttributes]) }
        if bits & 2 != 0 {
            rights.formUnion([.write, .append, .writeAttributes, .writeExtendedAttributes])
            // The tools of NFSv4 remove this right from entries of other objects.
            if isDirectory { rights.insert(.deleteChild) }
        }
        if bits & 1 != 0 { rights.insert(.execute) }
        return rights
    }

    /// The bits of a mode whose rights are all among some rights.
    static func bits(in rights: Rights, _ isDirectory: Bool) -> UInt16 {
        [4, 2, 1].filter { rights.isSuperset(of: Self.rights(of: $0, isDirectory)) }.reduce(0, |)
    }

    private static func bits(of rights: Rights) -> UInt16 {
        (rights.contains(.read) ? 4 : 0) | (rights.contains(.write) ? 2 : 0) | (rights.contains(.execute) ? 1 : 0)
    }
}
