// docs/reference/authorization.md 3.7 and 3.10: scanning a list, testing one class of mode bits.

enum ScanResult {
    /// The index of the entry that decided.
    case denied(Int)
    case allowed(Int)
    /// What is still outstanding, and the last entry that granted a part, if any.
    case undecided(Set<String>, lastGrant: Int?)
}

extension Subject {
    /// 3.7. `owner` and `group` are those of the object that carries the list.
    func scan(_ acl: [ModelEntry]?, for requested: Set<String>, owner: UInt32, group: UInt32) -> ScanResult {
        var outstanding = requested
        var lastGrant: Int?
        for (index, entry) in (acl ?? []).enumerated() {
            // 1.
            if entry.flags.contains("only_inherit") { continue }
            // 2.
            let named = expandedRights(entry.rights)
            // 3.
            if entry.kind == "allow" && named.isDisjoint(with: outstanding) { continue }
            if entry.kind == "deny" && named.isDisjoint(with: requested) { continue }
            // 4.
            if entry.kind != "allow" && entry.kind != "deny" { continue }
            // 5., with 1.4 rule 4 for the unknown.
            switch covered(by: entry.who, owner: owner, group: group) {
            case .member: break
            case .notMember: continue
            case .unknown: if entry.kind == "allow" { continue }
            }
            // 6.
            if entry.kind == "deny" { return .denied(index) }
            outstanding.subtract(named)
            lastGrant = index
            if outstanding.isEmpty { return .allowed(index) }
        }
        // 7.
        return .undecided(outstanding, lastGrant: lastGrant)
    }

    /// 3.10: which class judges, and whether its bits contain `bits` (4 = r, 2 = w, 1 = x).
    func modeBits(_ bits: UInt16, mode: UInt16, owner: UInt32, group: UInt32) -> (granted: Bool, class: String) {
        if uid == owner { return ((mode >> 6) & bits == bits, "owner") }
        let groupGrants = (mode >> 3) & bits == bits
        let otherGrants = mode & bits == bits
        switch membership(group) {
        case .member: return (groupGrants, "group")
        case .notMember: return (otherGrants, "other")
        case .unknown:
            // 1.4 rule 4: not knowing never becomes a grant, so both classes have to agree to one.
            if !groupGrants { return (false, "group") }
            return (otherGrants, "other")
        }
    }
}
