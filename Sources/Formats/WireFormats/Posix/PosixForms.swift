import Authorization

/// A change of an object's list and mode together.
public struct PosixChange: Sendable {
    public var acl: ACL?
    public var mode: FileMode
    /// The POSIX ACL that the backing object has by itself goes (docs/reference/authorization.md Q22).
    public var dropsOwn = false
    /// The same of a directory's default ACL.
    public var dropsOwnDefault = false
}

/// POSIX ACLs as entries of lists (docs/reference/posix-acl.md). An entry that no new object inherits belongs to the access ACL, an `only_inherit` entry
/// to the default ACL, and any other inheritable entry to both.
public struct PosixForms: Sendable {
    /// Whether the mount serves POSIX ACLs.
    public let isOn: Bool

    public init(isOn: Bool) { self.isOn = isOn }

    /// What new objects of every kind inherit, and the directory itself does not obey.
    private static let inheritable: ACEFlags = [.fileInherit, .directoryInherit, .onlyInherit]

    /// The access ACL; nil if the object has none that says more than its mode, or a list without an exact form.
    public func access(_ facts: ObjectFacts) -> PosixList? {
        guard isOn, facts.kind != .symlink else { return nil }
        guard let entries = facts.acl.map(Self.effective) ?? [] else { return nil }
        if entries.isEmpty { return facts.posixACL.flatMap { PosixList($0, mode: facts.mode) } }
        if facts.posixACL != nil { return nil }
        return PosixTranslation.list(of: entries, mode: facts.mode, for: use(facts.kind, facts.mode))
    }

    /// The default ACL of a directory, if its list has an exact form.
    public func new(_ facts: ObjectFacts) -> PosixList? {
        guard isOn, facts.kind == .directory, let acl = facts.acl else { return nil }
        var entries: [ACE] = []
        for var entry in acl.entries where entry.isInheritable {
            guard entry.flags.subtracting(.inherited) == Self.inheritable else { return nil }
            entry.flags = []
            entries.append(entry)
        }
        return entries.isEmpty ? nil : PosixTranslation.list(of: entries, mode: [], for: .new)
    }

    /// The default ACL that takes the place of the umask: one that was set as such. Other entries are inherited by their own rules.
    public func inherited(_ facts: ObjectFacts) -> PosixList? {
        guard let acl = facts.acl, acl.entries.contains(where: { $0.isInheritable && $0.isMask }) else { return nil }
        return new(facts)
    }

    /// The access ACL that getfacl(1) shows: that of all entries in force; or where entries of other kinds are inherited, the one that was set
    /// beside them. A program that copies ACLs finds it equal then, and neither removes it nor sets it anew.
    public func shown(_ facts: ObjectFacts) -> PosixList? { access(facts) ?? setPart(facts) }

    /// The explicit entries that were set as an access ACL, where `access` has found none because of the inherited ones.
    private func setPart(_ facts: ObjectFacts) -> PosixList? {
        guard isOn, facts.kind != .symlink, facts.posixACL == nil, let acl = facts.acl,
            acl.entries.contains(where: { $0.isMask && $0.flags.isDisjoint(with: [.onlyInherit, .inherited]) })
        else { return nil }
        return explicitList(acl, facts)
    }

    /// The access ACL if it was set as such: chmod changes it with the mode.
    /// - Returns: `isPart`: inherited entries of other kinds stand beside it.
    private func translated(_ facts: ObjectFacts) -> (list: PosixList, isPart: Bool)? {
        guard facts.posixACL == nil, let acl = facts.acl, acl.entries.contains(where: { !$0.flags.contains(.onlyInherit) && $0.isMask })
        else { return nil }
        if let list = access(facts) { return (list, false) }
        return setPart(facts).map { ($0, true) }
    }

    /// The mode that callers read: the group bits of a POSIX ACL that was set are its mask, as with other file systems.
    @inlinable public func shownMode(_ facts: ObjectFacts) -> FileMode {
        // Nearly no object has a list.
        if facts.acl == nil { return facts.mode }
        return shownModeWithList(facts)
    }

    @usableFromInline func shownModeWithList(_ facts: ObjectFacts) -> FileMode {
        guard let list = translated(facts)?.list else { return facts.mode }
        return FileMode(rawValue: facts.mode.rawValue & ~0o070 | list.classBits << 3)
    }

    /// Whether the backing object's own ACL could not be read, so that the forms are unknown.
    public func areUnknown(_ facts: ObjectFacts) -> Bool { isOn && facts.posixACL?.isUnreadable ?? false }

    private func use(_ kind: ObjectKind, _ mode: FileMode) -> PosixTranslation.Use {
        kind == .directory ? .directory(isSticky: mode.contains(.sticky)) : .file
    }

    /// The entries that the object itself obeys; nil if they are not those of one ACL alone.
    private static func effective(_ acl: ACL) -> [ACE]? {
        var entries: [ACE] = []
        for var entry in acl.entries where !entry.flags.contains(.onlyInherit) {
            guard entry.flags.isSubset(of: .inherited) else { return nil }
            entry.flags = []
            entries.append(entry)
        }
        return entries
    }
}

// Changes.
extension PosixForms {
    /// Whether entries are in force that were not set as a POSIX ACL.
    private func hasOtherEntries(_ facts: ObjectFacts) -> Bool {
        facts.acl?.entries.contains { !$0.flags.contains(.onlyInherit) } == true && translated(facts)?.isPart != false
    }

    /// The explicit entries in force of a list without an exact form, where these alone have one: inherited entries of other kinds stand
    /// beside them.
    private func explicitPart(_ facts: ObjectFacts) -> (list: PosixList, wasSet: Bool)? {
        guard facts.posixACL == nil, let acl = facts.acl, access(facts) == nil, let list = explicitList(acl, facts) else { return nil }
        return (list, acl.entries.contains { $0.isMask && $0.flags == [] })
    }

    private func explicitList(_ acl: ACL, _ facts: ObjectFacts) -> PosixList? {
        let entries = acl.entries.filter { $0.flags.isDisjoint(with: [.onlyInherit, .inherited]) }
        guard !entries.isEmpty, entries.allSatisfy({ $0.flags == [] }) else { return nil }
        return PosixTranslation.list(of: entries, mode: facts.mode, for: use(facts.kind, facts.mode))
    }

    /// Whether inherited entries stay in force beside an access ACL that is set. Those that getfacl(1) shows are part of the ACL that is
    /// replaced. Others belong to the place of the object: a copy has them besides what the original had.
    /// - Throws: explicit entries would be lost that getfacl did not show.
    private func keepsInherited(beside list: PosixList, _ facts: ObjectFacts) throws(PosixRefusal) -> Bool {
        guard let acl = facts.acl, access(facts) == nil else { return false }
        let present = acl.entries.filter { !$0.flags.contains(.onlyInherit) }
        if present.isEmpty { return false }
        if facts.posixACL == nil, present.allSatisfy({ $0.flags.contains(.inherited) }) { return true }
        // What getfacl showed is replaced. What it did not show, only if the same copy comes again.
        guard let own = explicitPart(facts), own.wasSet || list.names(allOf: own.list) else { throw .otherEntries }
        return true
    }

    /// Sets an access ACL.
    ///
    /// One that says no more than a mode is a chmod to programs that set it, such as `cp -p` and `install`: it removes what a POSIX ACL gave,
    /// and leaves all other entries, as chmod does.
    public func setting(access list: PosixList, on facts: ObjectFacts) throws(PosixRefusal) -> PosixChange {
        if !list.isExtended, hasOtherEntries(facts) {
            let mode = Self.mode(list, groupBits: list.group, facts.mode)
            guard explicitPart(facts)?.wasSet == true else {
                return PosixChange(acl: facts.acl, mode: mode, dropsOwn: facts.posixACL != nil)
            }
            return PosixChange(acl: try Self.list([], Self.rest(facts, keepsInherited: true), like: facts.acl), mode: mode)
        }
        let keepsInherited = try keepsInherited(beside: list, facts)
        let translation = try PosixTranslation(list, for: use(facts.kind, facts.mode))
        let acl = try Self.list(translation.entries, Self.rest(facts, keepsInherited: keepsInherited), like: facts.acl)
        return PosixChange(
            acl: acl, mode: Self.mode(list, groupBits: translation.groupBits, facts.mode), dropsOwn: facts.posixACL != nil)
    }

    /// Removes the access ACL, if there is one. Owner, owning group and others keep what they have; other file systems leave the mask to the
    /// owning group.
    public func removingAccess(on facts: ObjectFacts) throws(PosixRefusal) -> PosixChange? {
        let part = explicitPart(facts)
        let isPart = part?.wasSet == true
        guard let list = isPart ? part?.list : hasOtherEntries(facts) ? nil : access(facts) else { return nil }
        return PosixChange(
            acl: try Self.list([], Self.rest(facts, keepsInherited: isPart), like: facts.acl),
            mode: Self.mode(list, groupBits: list.group & list.classBits, facts.mode), dropsOwn: facts.posixACL != nil)
    }

    /// Sets the default ACL of a directory. It replaces the one that getfacl(1) shows.
    /// - Throws: new objects inherit other entries, which would be lost.
    public func setting(new list: PosixList, on facts: ObjectFacts) throws(PosixRefusal) -> PosixChange {
        if new(facts) == nil, facts.acl?.entries.contains(where: \.isInheritable) == true { throw .otherInheritableEntries }
        try requireInheritance(list)
        let entries = try PosixTranslation(list, for: .new).entries.map { $0.flagged(Self.inheritable) }
        return PosixChange(acl: try Self.list(Self.effectiveOnly(facts), entries, like: facts.acl), mode: facts.mode, dropsOwnDefault: true)
    }

    /// Removes the default ACL of a directory. Other inheritable entries stay: programs that copy remove a default ACL that they did not find.
    public func removingNew(on facts: ObjectFacts) throws(PosixRefusal) -> PosixChange {
        let acl = inherited(facts) == nil ? facts.acl : try Self.list(Self.effectiveOnly(facts), [], like: facts.acl)
        return PosixChange(acl: acl, mode: facts.mode, dropsOwnDefault: true)
    }

    /// A chmod of an object with a POSIX ACL that was set as such: the group's bits are the mask.
    /// - Returns: nil for every other object.
    public func changingMode(of facts: ObjectFacts, to mode: FileMode) throws(PosixRefusal) -> PosixChange? {
        if facts.acl == nil { return nil }
        guard let (set, isPart) = translated(facts) else { return nil }
        var list = set
        list.owner = mode.rawValue >> 6 & 7
        list.mask = mode.rawValue >> 3 & 7
        list.other = mode.rawValue & 7
        do { return try replacing(list, of: facts, mode, besideInherited: isPart) } catch {
            // A chmod that takes rights away must succeed, also where there are too many entries to keep what the mask takes.
            guard case .tooMany = error, let change = try? replacing(list.masked, of: facts, mode, besideInherited: isPart) else {
                throw error
            }
            return change
        }
    }

    private func replacing(
        _ list: PosixList, of facts: ObjectFacts, _ mode: FileMode, besideInherited: Bool
    ) throws(PosixRefusal) -> PosixChange {
        let translation = try PosixTranslation(list, for: use(facts.kind, mode))
        let isInherited = facts.acl?.entries.allSatisfy { !$0.flags.isDisjoint(with: [.inherited, .onlyInherit]) } == true
        let entries = translation.entries.map { isInherited ? $0.flagged(.inherited) : $0 }
        return PosixChange(
            acl: try Self.list(entries, Self.rest(facts, keepsInherited: besideInherited), like: facts.acl),
            mode: Self.mode(list, groupBits: translation.groupBits, mode))
    }

    /// What a new object gets of a default ACL: the requested mode limits owner, mask and others; the umask does not.
    /// - Parameters:
    ///   - list: of the directory.
    ///   - facts: the new object without it.
    public func inheriting(_ list: PosixList, by facts: ObjectFacts) throws(PosixRefusal) -> ObjectFacts {
        let mode = facts.mode.rawValue
        var access = list
        access.owner &= mode >> 6
        access.other &= mode
        if list.mask != nil { access.mask = list.classBits & mode >> 3 } else { access.group &= mode >> 3 }
        let below =
            facts.kind == .directory
            ? try PosixTranslation(list, for: .new).entries.map { $0.flagged(Self.inheritable.union(.inherited)) } : []
        func made(with access: PosixList) throws(PosixRefusal) -> ObjectFacts {
            let translation = try PosixTranslation(access, for: use(facts.kind, facts.mode))
            var made = facts
            made.acl = try Self.list(translation.entries.map { $0.flagged(.inherited) }, below, like: nil)
            made.mode = Self.mode(access, groupBits: translation.groupBits, facts.mode)
            return made
        }
        do { return try made(with: access) } catch {
            guard case .tooMany = error, let made = try? made(with: access.masked) else { throw error }
            return made
        }
    }

    /// A new directory has the entries twice: those in force, of which the requested mode can take, and those that it gives on.
    private func requireInheritance(_ list: PosixList) throws(PosixRefusal) {
        for mode: UInt16 in [0o777, 0o755, 0o700, 0] {
            _ = try inheriting(list, by: ObjectFacts(kind: .directory, owner: 0, group: 0, mode: FileMode(rawValue: mode)))
        }
    }

    private static func mode(_ list: PosixList, groupBits: UInt16, _ before: FileMode) -> FileMode {
        FileMode(rawValue: before.rawValue & 0o7000 | list.owner << 6 | groupBits << 3 | list.other)
    }

    private static func list(_ entries: [ACE], _ inherited: [ACE], like acl: ACL?) throws(PosixRefusal) -> ACL? {
        let all = entries + inherited
        if all.count > ACL.maximumEntryCount { throw .tooMany(all.count) }
        let flags = acl?.listFlags ?? 0
        return all.isEmpty && flags == 0 ? nil : ACL(all, listFlags: flags)
    }

    /// What stays of a list whose entries in force are replaced: what new objects get, and inherited entries if these are kept.
    private static func rest(_ facts: ObjectFacts, keepsInherited: Bool) -> [ACE] {
        (facts.acl?.entries ?? []).compactMap { entry in
            if keepsInherited, entry.flags.contains(.inherited) { return entry }
            return facts.kind == .directory && entry.isInheritable ? entry.flagged(entry.flags.union(.onlyInherit)) : nil
        }
    }

    /// What the directory obeys, and no new object gets.
    private static func effectiveOnly(_ facts: ObjectFacts) -> [ACE] {
        (facts.acl?.entries ?? []).filter { !$0.flags.contains(.onlyInherit) }.map { $0.flagged($0.flags.subtracting(.inheritanceControl)) }
    }
}

// Copies (docs/guide/copies.md): a program that copies POSIX ACLs carries what was set as such, and `com.apple.acl.text` the rest.
extension PosixForms {
    /// Whether POSIX ACLs say all that is explicit, so that nothing is left for `com.apple.acl.text`.
    ///
    /// Entries that another command has set count as left even if getfacl(1) shows them: programs that copy attributes alone keep those.
    public func sayAll(of facts: ObjectFacts) -> Bool {
        guard let acl = facts.acl else { return true }
        if acl.isProtected { return false }
        var (isInForce, isDefault) = (false, false)
        for entry in acl.entries where !entry.flags.contains(.inherited) {
            if !entry.flags.contains(.onlyInherit) {
                isInForce = true
            } else if entry.isInheritable {
                isDefault = true
            } else {
                return false
            }
        }
        return (!isInForce || translated(facts) != nil) && (!isDefault || inherited(facts) != nil)
    }

    /// The list without the explicit entries and the mark that no POSIX ACL says. A program that has compared the ACLs before counts on those
    /// that getfacl(1) shows. From now on they are ones that were set, so that it can remove them as it removes others.
    public func withoutWhatNoneSays(_ facts: ObjectFacts) -> ACL? {
        guard let acl = facts.acl else { return nil }
        let (access, new) = (shown(facts), new(facts))
        var entries = acl.entries.filter { entry in
            if entry.flags.contains(.inherited) { return true }
            return entry.flags.contains(.onlyInherit) ? new != nil && entry.isInheritable : access != nil
        }
        func markAsSet(_ list: PosixList?, _ use: PosixTranslation.Use, _ flags: ACEFlags, _ isOne: (ACE) -> Bool) {
            let own = entries.filter(isOne)
            guard let list, own.contains(where: { !$0.flags.contains(.inherited) }), !own.contains(where: \.isMask),
                let mask = try? PosixTranslation(list, for: use).entries.last, entries.count < ACL.maximumEntryCount
            else { return }
            entries.append(mask.flagged(flags))
        }
        markAsSet(access, use(facts.kind, facts.mode), []) { !$0.flags.contains(.onlyInherit) }
        markAsSet(new, .new, Self.inheritable) { $0.flags.contains(.onlyInherit) }
        return entries.isEmpty ? nil : ACL(entries, listFlags: acl.listFlags & ~ACL.noInherit)
    }
}

extension PosixList {
    /// The list that grants the same, and has forgotten what the mask takes.
    fileprivate var masked: PosixList {
        var list = self
        for index in users.indices { list.users[index].permissions &= classBits }
        for index in groups.indices { list.groups[index].permissions &= classBits }
        list.group &= classBits
        list.mask = list.union
        return list
    }
}

extension ACE {
    /// Whether the entry keeps the mask of a POSIX ACL.
    fileprivate var isMask: Bool { Principal(guid) == .nobody }

    fileprivate var isInheritable: Bool { !flags.isDisjoint(with: [.fileInherit, .directoryInherit]) }

    fileprivate func flagged(_ flags: ACEFlags) -> ACE {
        var entry = self
        entry.flags = flags
        return entry
    }
}
