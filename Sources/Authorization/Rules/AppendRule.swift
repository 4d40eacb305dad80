extension ObjectFacts {
    /// Whether on this file, as it is now, nobody can be held to adding at the end: whoever may append may also write
    /// anywhere. Sufficient, not necessary; a view may take `write` alone away and is not considered here.
    public var appendingImpliesWriting: Bool {
        guard flags.isDisjoint(with: .appendOnly) else { return false }
        guard let acl else { return true }
        // Who is denied writing is then denied appending by the same entry, and who is allowed to append is by the same entry, or by one
        // before it, allowed to write; the mode bits know one right only. An entry that allows writing alone gives nobody too little.
        return acl.entries.allSatisfy { entry in
            let rights = entry.rights.expandingGenericRights
            if entry.flags.contains(.onlyInherit) { return true }
            return switch entry.kind {
            case .allow: rights.contains(.write) || !rights.contains(.append)
            case .deny: rights.contains(.append) || !rights.contains(.write)
            case nil: true
            }
        }
    }
}
