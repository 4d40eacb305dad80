import Authorization

/// The edit of one invocation of chmod (docs/reference/authorization.md 7.5).
public enum ACLEdit: Sendable, Hashable {
    /// `+a`, `+ai`: merged, or inserted in canonical order.
    case add([ACE])
    /// `+a#`, `+ai#`
    case insert([ACE], at: Int)
    /// `-a`
    case subtract([ACE])
    /// `-a#`
    case remove(at: Int)
    /// `=a#`
    case replace(ACE, at: Int)
    /// `-E`. Without a word about the mark `no_inherit` it stays as it is.
    case replaceAll([ACE], isProtected: Bool? = nil)
    /// `-C`
    case checkCanonical
    /// `-i`
    case clearInherited
    /// `-I`
    case removeInherited
    /// `-N`
    case removeList

    /// - Parameter acl: the list of one object; nil = none.
    /// - Returns: the new list, and diagnostics.
    public func applied(to acl: ACL?) -> ACLEditResult {
        switch self {
        case .add(let new): added(new, to: acl)
        case .insert(let new, let index): inserted(new, at: index, to: acl)
        case .subtract(let entries): withList(acl) { subtracted(entries, from: $0) }
        case .remove(let index): withList(acl) { removed(at: index, from: $0) }
        case .replace(let entry, let index): replaced(entry, at: index, in: acl)
        case .replaceAll(let entries, let isProtected): limited(replaced(entries, isProtected, in: acl), was: acl)
        case .checkCanonical:
            ACLEditResult(
                acl: acl, diagnostics: acl == nil ? [ACLDiagnostic(.noACL)] : [],
                // No list is in canonical order (docs/reference/authorization.md 7.5, Q9).
                isCanonical: CanonicalOrder.isCanonical(acl?.entries ?? []))
        case .clearInherited: withList(acl) { ACLEditResult(acl: $0.withoutInheritedMarks) }
        case .removeInherited: withList(acl) { ACLEditResult(acl: $0.withoutInheritedEntries) }
        case .removeList: ACLEditResult(acl: nil)
        }
    }

    /// Applies an edit that needs a list. macOS then stores an empty list; here the object stays without one (docs/reference/authorization.md
    /// 7.5).
    private func withList(_ acl: ACL?, _ change: (ACL) -> ACLEditResult) -> ACLEditResult {
        guard let acl else { return ACLEditResult(acl: nil, diagnostics: [ACLDiagnostic(.noACL)]) }
        return change(acl)
    }

    private func added(_ new: [ACE], to acl: ACL?) -> ACLEditResult {
        guard var list = acl, !list.entries.isEmpty else { return inserted(new, at: 0, to: acl) }
        guard CanonicalOrder.isCanonical(list.entries) else {
            return ACLEditResult(acl: acl, diagnostics: [ACLDiagnostic(.notCanonical)])
        }
        for entry in new where !list.entries.contains(entry) {
            let same = { (other: ACE) in other.guid == entry.guid && other.flagsWord == entry.flagsWord }
            if let index = list.entries.lastIndex(where: same) {
                list.entries[index].rights.formUnion(entry.rights)
            } else {
                list.entries.insert(entry, at: CanonicalOrder.position(for: entry, in: list.entries))
            }
        }
        return limited(list, was: acl)
    }

    private func inserted(_ new: [ACE], at index: Int, to acl: ACL?) -> ACLEditResult {
        var list = acl ?? ACL([])
        // In an empty list the index is always 0.
        let index = list.entries.isEmpty ? 0 : index
        guard index <= list.entries.count else {
            return ACLEditResult(
                acl: acl, diagnostics: [ACLDiagnostic(.range, index: index, count: list.entries.count)])
        }
        // Each is inserted at the same index, which reverses them.
        for entry in new { list.entries.insert(entry, at: index) }
        return limited(list, was: acl)
    }

    private func subtracted(_ named: [ACE], from acl: ACL) -> ACLEditResult {
        var list = acl
        var diagnostics: [ACLDiagnostic] = []
        for name in named {
            var found = false
            list.entries = list.entries.compactMap { entry in
                guard entry.guid == name.guid, entry.kind == name.kind else { return entry }
                found = true
                var entry = entry
                entry.rights.subtract(name.rights)
                entry.flags.subtract(name.flags)
                // chmod leaves no entry with only rights that it cannot name.
                return entry.rights.isDisjoint(with: RightName.knownToChmod) ? nil : entry
            }
            if !found { diagnostics.append(ACLDiagnostic(.notFound)) }
        }
        return ACLEditResult(acl: list, diagnostics: diagnostics)
    }

    private func removed(at index: Int, from acl: ACL) -> ACLEditResult {
        guard acl.entries.indices.contains(index) else {
            return ACLEditResult(
                acl: acl, diagnostics: [ACLDiagnostic(.noEntry, index: index, count: acl.entries.count)])
        }
        var list = acl
        list.entries.remove(at: index)
        return ACLEditResult(acl: list)
    }

    private func replaced(_ entry: ACE, at index: Int, in acl: ACL?) -> ACLEditResult {
        guard var list = acl, !list.entries.isEmpty else { return inserted([entry], at: 0, to: acl) }
        guard list.entries.indices.contains(index) else {
            return ACLEditResult(
                acl: acl, diagnostics: [ACLDiagnostic(.replaceNoEntry, index: index, count: list.entries.count)])
        }
        list.entries[index] = entry
        return ACLEditResult(acl: list)
    }

    private func replaced(_ entries: [ACE], _ isProtected: Bool?, in acl: ACL?) -> ACL {
        var list = ACL(entries, listFlags: acl?.listFlags ?? 0)
        if let isProtected { list.listFlags = list.listFlags & ~ACL.noInherit | (isProtected ? ACL.noInherit : 0) }
        return list
    }

    private func limited(_ list: ACL, was acl: ACL?) -> ACLEditResult {
        if list.entries.count <= ACL.maximumEntryCount { return ACLEditResult(acl: list) }
        return ACLEditResult(acl: acl, diagnostics: [ACLDiagnostic(.tooMany, count: list.entries.count)])
    }
}

/// The list after an edit. With a diagnostic the list may have changed too: `-a` with several entries removes those that it finds.
public struct ACLEditResult: Sendable, Hashable {
    public var acl: ACL?
    public var diagnostics: [ACLDiagnostic]
    /// The answer to `-C`; `nil` for every other edit.
    public var isCanonical: Bool?

    public init(acl: ACL?, diagnostics: [ACLDiagnostic] = [], isCanonical: Bool? = nil) {
        (self.acl, self.diagnostics, self.isCanonical) = (acl, diagnostics, isCanonical)
    }
}

/// A diagnostic of an edit of one object (docs/reference/authorization.md 7.6).
public struct ACLDiagnostic: Sendable, Hashable {
    /// The symbolic codes of docs/reference/authorization.md 7.6.
    public enum Code: String, Sendable {
        case range = "E_RANGE"
        case replaceNoEntry = "E_NO_ENTRY"
        case tooMany = "E_TOO_MANY"
        case notCanonical = "W_NOT_CANONICAL"
        case noEntry = "W_NO_ENTRY"
        case notFound = "W_NOT_FOUND"
        case noACL = "W_NO_ACL"
    }
    public var code: Code
    /// The index in the command.
    public var index: Int
    /// Number of entries in the list.
    public var count: Int

    public init(_ code: Code, index: Int = 0, count: Int = 0) {
        (self.code, self.index, self.count) = (code, index, count)
    }

    /// Whether chmod stops, also for other files.
    public var isFatal: Bool { code == .range || code == .replaceNoEntry }

    public var message: String {
        switch code {
        case .range: "no position \(index): the ACL has \(count == 1 ? "1 entry" : "\(count) entries"), counted from 0"
        case .replaceNoEntry, .noEntry: "no entry \(index): the ACL has \(count == 1 ? "1 entry" : "\(count) entries"), counted from 0"
        case .tooMany: "\(count) entries, more than the \(ACL.maximumEntryCount) that an ACL can hold"
        case .notCanonical: "the ACL is not in canonical order; give a position with +a#"
        case .notFound: "no entry for this user or group"
        case .noACL: "no ACL"
        }
    }
}
