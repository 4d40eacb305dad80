import Authorization

/// A value of `system.nfs4_acl_smb`, the list and the mode of an object for Samba (docs/samba.md): a word of flags, then the form of
/// `system.nfs4_acl` with numbers for identities (`nfsacl41` of RFC 8881).
///
/// A client of Samba sees no mode, and in its lists whatever is not allowed is refused. So the mode is shown as entries, and what a value
/// says about OWNER@, GROUP@ and EVERYONE@ becomes the mode again.
public struct SMBValue: Sendable, Hashable {
    /// All entries of the value.
    public var entries: [ACE]
    /// Whether nothing shall be inherited; the only one of the value's flags that is stored.
    public var isProtected: Bool

    /// Whether entries are marked as inherited; Samba marks what it makes below a directory only if the directory has this flag.
    private var isAutoInherited: Bool

    private enum Flag {
        static let autoInherit: UInt32 = 0x1
        static let protected: UInt32 = 0x2
        static let defaulted: UInt32 = 0x4
        static let all = autoInherit | protected | defaulted
    }

    // MARK: Bytes

    /// Reads a value. Identities are resolved, so account databases may be asked.
    /// - Throws: the first error, with its position.
    public init(_ value: [UInt8], names: some WireNames) throws(NFS4Error) {
        var reader = XDRReader(value)
        let flags: UInt32
        do throws(NFS4Error.Problem) { flags = try reader.word() } catch { throw NFS4Error(error) }
        if flags & ~Flag.all != 0 { throw NFS4Error(.unknownListFlags(flags & ~Flag.all)) }
        isProtected = flags & Flag.protected != 0
        isAutoInherited = flags & Flag.autoInherit != 0
        entries = try NamedForm.read(Array(value.dropFirst(4)), names: names)
    }

    /// What reading the attribute of an object shows.
    /// - Parameters:
    ///   - acl: the list; nil = none.
    ///   - mode: the mode.
    ///   - isDirectory: whether the object is a directory.
    public init(_ acl: ACL?, mode: FileMode, isDirectory: Bool) {
        isProtected = (acl?.listFlags ?? 0) & ACL.noInherit != 0
        var entries = (acl?.entries ?? []).filter(Self.hasForm).map { Self.shown($0, isDirectory) }
        isAutoInherited = isDirectory || entries.contains { $0.flags.contains(.inherited) }
        let ofMode = Self.entries(of: mode, isDirectory, besides: entries)
        // Explicit entries before inherited ones is the order of Windows. Only entries that allow may change places.
        let movable = entries.reversed().prefix { $0.kind == .allow && $0.flags.contains(.inherited) }.count
        let place = ofMode.contains { $0.kind == .deny } ? entries.count : entries.count - movable
        entries.insert(contentsOf: ofMode, at: place)
        if isDirectory, Self.needsInheritable(entries) { entries.append(Self.inheritable) }
        self.entries = entries
    }

    /// The bytes of the value.
    public func bytes() throws(NFS4Error) -> [UInt8] {
        var writer = XDRWriter()
        writer.add((isAutoInherited ? Flag.autoInherit : 0) | (isProtected ? Flag.protected : 0))
        return writer.bytes + (try NamedForm.write(entries, names: NoAccounts()))
    }

    // MARK: What is stored

    /// The list to store, and the mode to set.
    /// - Parameters:
    ///   - current: the list that the object has. Its entries that no value can have stay.
    ///   - mode: the mode that the object has.
    ///   - isDirectory: whether the object is a directory.
    /// - Returns: the list; the bits 0777 of the mode.
    /// - Throws: if there are too many entries.
    public func divided(over current: ACL?, mode: FileMode, isDirectory: Bool) throws(NFS4Error) -> (acl: ACL, permissions: UInt16) {
        let listFlags = (current?.listFlags ?? 0) & ~ACL.noInherit | (isProtected ? ACL.noInherit : 0)
        let before = current?.entries ?? []
        if entries == SMBValue(current, mode: mode, isDirectory: isDirectory).entries {
            return (ACL(before, listFlags: listFlags), mode.rawValue & 0o777)
        }
        var (stored, permissions) = withoutClasses(ownerBefore: mode.rawValue >> 6 & 7, isDirectory)
        stored = stored.map { entry in before.first { Self.hasForm($0) && Self.shown($0, isDirectory) == entry } ?? entry }
        let hidden = before.filter { !Self.hasForm($0) }
        stored = hidden.filter { $0.kind == .deny } + stored + hidden.filter { $0.kind != .deny }
        if stored.count > ACL.maximumEntryCount { throw NFS4Error(.tooManyEntries(UInt32(stored.count))) }
        return (ACL(stored, listFlags: listFlags), permissions)
    }

    /// Takes the entries out that a mode can express. A class has the bits that its entries and those of EVERYONE@ allow. If all entries are
    /// inherited, as in the list that Samba gives to a new object, nothing is said about the owner, who keeps its bits.
    private func withoutClasses(ownerBefore: UInt16, _ isDirectory: Bool) -> (stored: [ACE], permissions: UInt16) {
        func said(_ identity: GUID) -> Rights? {
            let entries = entries.filter { $0.guid == identity && Self.isPlainAllow($0) }
            return entries.isEmpty ? nil : entries.reduce(Rights()) { $0.union($1.rights) }
        }
        let ownerUnsaid = entries.allSatisfy { $0.flags.contains(.inherited) } ? ownerBefore : 0
        let others = ModeEntries.bits(in: said(.everyone) ?? [], isDirectory)
        let group = ModeEntries.bits(in: said(.owningGroup) ?? [], isDirectory) | others
        let owner = (said(.owner).map { ModeEntries.bits(in: $0, isDirectory) } ?? ownerUnsaid) | others
        let expressed: [GUID: Rights] = [
            .owner: ModeEntries.rights(of: owner, isDirectory).union(ModeEntries.ofOwner),
            .owningGroup: ModeEntries.rights(of: group, isDirectory).union(ModeEntries.always),
            .everyone: ModeEntries.rights(of: others, isDirectory).union(ModeEntries.always),
        ]
        // The mode is evaluated after the list: what a deny follows stays in its place.
        let lastDeny = entries.lastIndex { $0.kind == .deny } ?? -1
        let stored = entries.enumerated().filter { place, entry in
            if entry == Self.inheritable { return false }
            return place < lastDeny || !Self.isPlainAllow(entry) || entry.rights != expressed[entry.guid]
        }
        return (stored.map(\.element), owner << 6 | group << 3 | others)
    }

    /// The entries of a mode without those that allow nothing more: to a class without bits, to a group that has no more than everyone, to a class
    /// with an entry of its own. Then a client reads what it set.
    private static func entries(of mode: FileMode, _ isDirectory: Bool, besides stored: [ACE]) -> [ACE] {
        let others = ModeEntries.rights(of: mode.rawValue, isDirectory)
        let rights: [GUID: Rights] = [
            .owner: ModeEntries.rights(of: mode.rawValue >> 6, isDirectory),
            .owningGroup: ModeEntries.rights(of: mode.rawValue >> 3, isDirectory), .everyone: others,
        ]
        return ModeEntries.entriesWithOwner(for: mode, isDirectory: isDirectory).filter { entry in
            guard entry.kind == .allow, let rights = rights[entry.guid] else { return true }
            if rights.isEmpty || entry.guid == .owningGroup && others.isSuperset(of: rights) { return false }
            return !stored.contains { $0.guid == entry.guid && isPlainAllow($0) && $0.rights.isSuperset(of: rights) }
        }
    }

    private static func isPlainAllow(_ entry: ACE) -> Bool { entry.kind == .allow && entry.flags.isEmpty }

    // MARK: Entries

    /// Whether a value can have the entry: an identity with a number, and no bit that NFSv4 lacks.
    private static func hasForm(_ entry: ACE) -> Bool {
        switch Principal(entry.guid) {
        case .user(let uid) where uid != .max: break
        case .group(let gid) where gid != .max && GUID(group: gid) == entry.guid: break
        case .owner, .owningGroup, .everyone: break
        case .user, .group, .nobody, .other: return false
        }
        do throws(NFS4Error.Problem) {
            _ = (try NFS4Word.type(of: entry), try NFS4Word.flags(of: entry))
            var expanded = entry
            expanded.rights = entry.rights.expandingGenericRights
            _ = try NFS4Word.mask(of: expanded)
            return true
        } catch { return false }
    }

    /// Clients open an object with all rights of Windows' Read, Write or Execute. An entry that allows to read, write or execute is shown with
    /// them; what they ask for afterwards is decided by the entry as it is stored.
    private static func shown(_ entry: ACE, _ isDirectory: Bool) -> ACE {
        var shown = entry
        shown.rights = entry.rights.expandingGenericRights
        if entry.kind != .allow || shown.rights.isDisjoint(with: [.read, .write, .execute]) { return shown }
        shown.rights.formUnion(ModeEntries.always)
        if isDirectory { return shown }
        if shown.rights.contains(.read) { shown.rights.insert(.readExtendedAttributes) }
        if shown.rights.contains(.write) { shown.rights.formUnion([.append, .writeAttributes, .writeExtendedAttributes]) }
        return shown
    }

    /// Samba creates with the mode 0666 or 0777 below a directory with any inheritable entry, and sets a list only if one is for this kind of
    /// object. This entry is for both and allows nothing, so that a list is always set.
    private static let inheritable = ACE(.everyone, .allow, [], flags: [.inherited, .fileInherit, .directoryInherit, .onlyInherit])

    private static func needsInheritable(_ entries: [ACE]) -> Bool {
        let both: ACEFlags = [.fileInherit, .directoryInherit]
        return entries.contains { !$0.flags.isDisjoint(with: both) } && !entries.contains { $0.flags.isSuperset(of: both) }
    }
}

/// Samba resolves numbers itself, and no account database is asked.
private struct NoAccounts: WireNames {
    func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID? { nil }
    func name(of identity: GUID) -> String? { nil }
}
