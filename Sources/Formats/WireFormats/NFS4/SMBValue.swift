import Authorization

/// A value of `system.nfs4_acl_smb`, the list and the mode of an object for Samba (docs/guide/samba.md): a word of flags, then the form of
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
    public init(_ facts: ObjectFacts) {
        let isDirectory = facts.kind == .directory
        isProtected = facts.acl?.isProtected == true
        var entries = (facts.acl?.entries ?? []).filter(Self.hasForm).map { Self.shown($0, isDirectory) }
        isAutoInherited = isDirectory || entries.contains { $0.flags.contains(.inherited) }
        let ofMode = Self.entriesOfMode(facts, besides: entries)
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
    /// - Parameter facts: of the object. Entries of its list that no value can have stay.
    /// - Returns: the list; the bits 0777 of the mode.
    /// - Throws: if there are too many entries.
    public func divided(over facts: ObjectFacts) throws(NFS4Error) -> (acl: ACL, permissions: UInt16) {
        let isDirectory = facts.kind == .directory
        let listFlags = (facts.acl?.listFlags ?? 0) & ~ACL.noInherit | (isProtected ? ACL.noInherit : 0)
        let before = facts.acl?.entries ?? []
        if entries == SMBValue(facts).entries { return (ACL(before, listFlags: listFlags), facts.mode.rawValue & 0o777) }
        let known = before.filter(Self.hasForm)
            .map { (stored: $0, forms: [Self.shown($0, isDirectory), Self.shown($0, true)]) }
        var value = self
        value.entries = KeptIdentities(facts, known).restored(
            entries, besides: Self.entriesOfMode(facts, besides: known.map { $0.forms[0] }), .all)
        var (stored, permissions) = value.withoutClasses(of: facts)
        // Samba inherits entries as its directory shows them.
        var byForm: [ACE: ACE] = [:]
        for (entry, forms) in known { for form in forms where byForm[form] == nil { byForm[form] = entry } }
        stored = stored.map { byForm[$0] ?? $0 }
        let hidden = before.filter { !Self.hasForm($0) }
        stored = hidden.filter { $0.kind == .deny } + stored + hidden.filter { $0.kind != .deny }
        if stored.count > ACL.maximumEntryCount { throw NFS4Error(.tooManyEntries(UInt32(stored.count))) }
        return (ACL(stored, listFlags: listFlags), permissions)
    }

    /// Takes the entries out that a mode can express. A class has the bits that its entries and those of EVERYONE@ allow. If all entries are
    /// inherited, as in the list that Samba gives to a new object, the owner keeps its bits besides.
    private func withoutClasses(of facts: ObjectFacts) -> (stored: [ACE], permissions: UInt16) {
        let isDirectory = facts.kind == .directory
        func bits(_ identities: [GUID]) -> UInt16 {
            let allowing = entries.filter { Self.allows($0, identities) }
            let bits = ModeEntries.bits(in: allowing.reduce(Rights()) { $0.union($1.rights) }, isDirectory)
            // A new file is no program because all rights are inherited.
            return isDirectory || allowing.contains { !$0.flags.contains(.inherited) } ? bits : bits & 6
        }
        let others = bits([.everyone])
        let group = bits(facts.groupIdentities) | others
        let isOnlyInherited = !entries.isEmpty && entries.allSatisfy { $0.flags.contains(.inherited) }
        let kept = isOnlyInherited ? facts.mode.rawValue >> 6 & 7 : 0
        let owner = bits(facts.ownerIdentities) | others | kept
        let expressed: [GUID: Rights] = [
            .owner: ModeEntries.rights(of: owner, isDirectory).union(ModeEntries.ofOwner),
            .owningGroup: ModeEntries.rights(of: group, isDirectory).union(ModeEntries.always),
            .everyone: ModeEntries.rights(of: others, isDirectory).union(ModeEntries.always),
        ]
        // The mode is evaluated after the list: what a deny follows stays in its place.
        let lastDeny = entries.lastIndex { $0.kind == .deny } ?? -1
        let stored = entries.enumerated().filter { place, entry in
            if entry.guid == .everyone && entry.kind == .allow && entry.rights.isEmpty { return false }
            return place < lastDeny || entry.kind != .allow || !entry.flags.isEmpty || entry.rights != expressed[entry.guid]
        }
        return (stored.map(\.element), owner << 6 | group << 3 | others)
    }

    /// The entries of the mode without those that allow nothing more: to a class without bits, to a group that has no more than everyone, to a class
    /// with an entry of its own. Then a client reads what it set.
    private static func entriesOfMode(_ facts: ObjectFacts, besides stored: [ACE]) -> [ACE] {
        let isDirectory = facts.kind == .directory
        func rights(_ shift: UInt16) -> Rights { ModeEntries.rights(of: facts.mode.rawValue >> shift, isDirectory) }
        let others = rights(0)
        return ModeEntries.entriesWithOwner(for: facts.mode, isDirectory: isDirectory).filter { entry in
            if entry.kind == .deny { return true }
            let (bits, identities): (Rights, [GUID]) =
                switch entry.guid {
                case .owner: (rights(6), facts.ownerIdentities)
                case .owningGroup: (rights(3), facts.groupIdentities)
                default: (others, [.everyone])
                }
            if bits.isEmpty || entry.guid == .owningGroup && others.isSuperset(of: bits) { return false }
            return !stored.contains { allows($0, identities) && $0.rights.isSuperset(of: bits) }
        }
    }

    /// Whether an entry allows something on the object itself to one of some identities.
    private static func allows(_ entry: ACE, _ identities: [GUID]) -> Bool {
        entry.kind == .allow && !entry.flags.contains(.onlyInherit) && identities.contains(entry.guid)
    }

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
    /// them; what they ask for afterwards is decided by the entry as it is stored. Entries of clients, which have `synchronize`, are shown as they are.
    private static func shown(_ entry: ACE, _ isDirectory: Bool) -> ACE {
        var shown = entry
        shown.rights = entry.rights.expandingGenericRights
        let isComplete = shown.rights.contains(.synchronize) || shown.rights.isDisjoint(with: [.read, .write, .execute])
        if entry.kind != .allow || isComplete { return shown }
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
