extension ObjectFacts {
    /// Whether on this file, as it is now, nobody can be held to adding at the end: whoever may append may also write
    /// anywhere. Sufficient, not necessary; a view may take `write` alone away and is not considered here.
    public var appendingImpliesWriting: Bool {
        guard flags.isDisjoint(with: .appendOnly) else { return false }
        guard let acl else { return true }
        // Where each entry names both or none, and the mode bits know one right only, each answer on the one is that on
        // the other.
        return acl.entries.allSatisfy { entry in
            let rights = entry.rights.expandingGenericRights
            return rights.contains(.write) == rights.contains(.append)
        }
    }
}
