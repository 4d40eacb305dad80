import ACLFormats
import Authorization

/// What an administrator looks for.
enum FindingKind: Int, CaseIterable {
    case worldWritable, shadowingDeny, uselessDeny, unusualOrder, unknownIdentity, orphaned, explicitEntries, locked, excluded, protected

    var word: String {
        switch self {
        case .worldWritable: "everyone_may_write"
        case .shadowingDeny: "deny_shadows_allow"
        case .uselessDeny: "deny_without_effect"
        case .unusualOrder: "unusual_order"
        case .unknownIdentity: "unknown_identity"
        case .orphaned: "inherited_from_nowhere"
        case .explicitEntries: "explicit_entries"
        case .locked: "locked_by_flag"
        case .excluded: "excluded_from_backup"
        case .protected: "no_inherit"
        }
    }

    var title: String {
        switch self {
        case .worldWritable: "Everyone may write"
        case .shadowingDeny: "A deny before an allow that it restricts"
        case .uselessDeny: "A deny without effect: an earlier entry allows it"
        case .unusualOrder: "Entries in another order than aclfs chmod keeps"
        case .unknownIdentity: "Identities without an account or group"
        case .orphaned: "Inherited entries that no directory above has"
        case .explicitEntries: "Entries of its own, not inherited"
        case .locked: "Locked by a flag"
        case .excluded: "Excluded from backup"
        case .protected: "Inherits nothing from above (no_inherit)"
        }
    }

    /// A short form for a cell of a table.
    var badge: String {
        switch self {
        case .worldWritable: "everyone may write"
        case .shadowingDeny: "deny cuts allow"
        case .uselessDeny: "deny without effect"
        case .unusualOrder: "unusual order"
        case .unknownIdentity: "unknown identity"
        case .orphaned: "inherited from nowhere"
        case .explicitEntries: "own entries"
        case .locked: "locked"
        case .excluded: "not in backup"
        case .protected: "inherits nothing"
        }
    }

    /// Whether an object below another with the same finding is only counted.
    var coversContents: Bool {
        switch self {
        case .worldWritable, .excluded, .unknownIdentity: true
        default: false
        }
    }
}

/// A set of findings: the bit of a kind is its raw value.
struct FindingKinds: OptionSet, Hashable {
    var rawValue: UInt16
    init(rawValue: UInt16) { self.rawValue = rawValue }
    init(_ kind: FindingKind) { rawValue = 1 << kind.rawValue }

    var kinds: [FindingKind] { FindingKind.allCases.filter { contains(FindingKinds($0)) } }
}

/// A finding of an object, with the entries that it is about.
struct UnusualFact: Hashable {
    var kind: FindingKind
    var detail: String
}

/// Looks for findings in the facts of objects.
struct FindingRules {
    let subjects: ReportSubjects
    private let presets = PresetForms()

    init(subjects: ReportSubjects) { self.subjects = subjects }

    /// - Parameters:
    ///   - item: the class of the object.
    ///   - origins: of its entries.
    ///   - verdict: what subjects may do with it.
    ///   - isTop: whether it is the directory of the report, whose own entries are usual.
    func findings(_ item: ObjectClass, _ origins: [EntryOrigin], _ verdict: Verdict, isTop: Bool) -> [UnusualFact] {
        var found: [UnusualFact] = []
        func add(_ kind: FindingKind, _ detail: String = "") { found.append(UnusualFact(kind: kind, detail: detail)) }
        let kind = KindGroup(item.facts.kind)
        if kind != .link, !verdict.others.isDisjoint(with: ReportColumn.write.rights(of: kind)) {
            add(.worldWritable, item.facts.mode.contains(.sticky) ? "with the sticky bit" : "")
        }
        let entries = item.entries
        // A list that was set as a POSIX ACL has the denies and the order of its translation (docs/reference/posix-acl.md "What is stored").
        if !entries.contains(where: { Principal($0.guid) == .nobody }) {
            if let pair = shadowing(entries) { add(.shadowingDeny, "entry \(pair.0) before entry \(pair.1)") }
            if let pair = useless(entries) { add(.uselessDeny, "entry \(pair.1) after entry \(pair.0)") }
            if !isInUsualOrder(entries) { add(.unusualOrder) }
        }
        let unknown = unknownIdentities(item)
        if !unknown.isEmpty { add(.unknownIdentity, unknown.joined(separator: ", ")) }
        let orphans = origins.indices.filter { origins[$0] == .nowhere }
        if !orphans.isEmpty { add(.orphaned, Self.entryList(orphans)) }
        let own = origins.indices.filter { origins[$0] == .own }
        if !own.isEmpty, !isTop { add(.explicitEntries, Self.entryList(own)) }
        let locks = item.facts.flags.intersection(FileFlags.immutable.union(.appendOnly).union(.noUnlink))
        if !locks.isEmpty { add(.locked, FileFlagsText.shown(locks)) }
        if item.isExcluded { add(.excluded) }
        if item.isProtected { add(.protected) }
        return found
    }

    /// Explicit entries before inherited ones, each part as `aclfs chmod` keeps it or as a preset makes it.
    private func isInUsualOrder(_ entries: [ACE]) -> Bool {
        if CanonicalOrder.isCanonical(entries) { return true }
        let end = entries.firstIndex { $0.flags.contains(.inherited) } ?? entries.endIndex
        guard entries[end...].allSatisfy({ $0.flags.contains(.inherited) }) else { return false }
        return [entries[..<end], entries[end...]].allSatisfy { CanonicalOrder.isCanonical(Array($0)) || presets.contain($0) }
    }

    private static func entryList(_ indices: [Int]) -> String {
        indices.count == 1 ? "entry \(indices[0])" : "entries " + indices.map { String($0) }.joined(separator: ", ")
    }

    /// A deny, and a later allow of the same right to a caller whom both are about.
    private func shadowing(_ entries: [ACE]) -> (Int, Int)? {
        for (index, deny) in entries.enumerated() where deny.kind == .deny && isEffective(deny) {
            for later in entries.indices.dropFirst(index + 1) where entries[later].kind == .allow && isEffective(entries[later]) {
                let common = deny.rights.expandingGenericRights.intersection(entries[later].rights.expandingGenericRights)
                if !common.isEmpty, meet(deny.guid, entries[later].guid) { return (index, later) }
            }
        }
        return nil
    }

    /// An allow, and a later deny of nothing but what it allows to every caller whom the deny is about.
    private func useless(_ entries: [ACE]) -> (Int, Int)? {
        for (index, deny) in entries.enumerated() where deny.kind == .deny && isEffective(deny) {
            for earlier in 0..<index where entries[earlier].kind == .allow && isEffective(entries[earlier]) {
                let denied = deny.rights.expandingGenericRights
                if !denied.isEmpty, entries[earlier].rights.expandingGenericRights.isSuperset(of: denied),
                    covers(entries[earlier].guid, deny.guid)
                {
                    return (earlier, index)
                }
            }
        }
        return nil
    }

    private func isEffective(_ entry: ACE) -> Bool { !entry.flags.contains(.onlyInherit) }

    /// Whether all callers of the second identity are of the first.
    private func covers(_ first: GUID, _ second: GUID) -> Bool {
        if first == second { return true }
        switch (Principal(first), Principal(second)) {
        case (.everyone, _): return true
        case (.group(let gid), .user(let uid)): return subjects.isMember(uid, of: gid)
        default: return false
        }
    }

    private func meet(_ first: GUID, _ second: GUID) -> Bool { covers(first, second) || covers(second, first) }

    private func unknownIdentities(_ item: ObjectClass) -> [String] {
        var found: [String] = []
        for (index, entry) in item.entries.enumerated() where !subjects.isKnown(Principal(entry.guid)) { found.append("entry \(index)") }
        let owner = item.facts.ownerGUID.map { Principal($0) } ?? .user(item.facts.owner)
        if !subjects.isKnown(owner) { found.append("owner") }
        let group = item.facts.groupGUID.map { Principal($0) } ?? .group(item.facts.group)
        if !subjects.isKnown(group) { found.append("group") }
        return found
    }
}
