extension ObjectFacts {
    /// Whether every caller who may append to this file may also write anywhere in it.
    ///
    /// The condition is sufficient, not necessary. A sandbox profile that refuses `write` alone is not considered.
    public var appendingImpliesWriting: Bool {
        guard flags.isDisjoint(with: .appendOnly) else { return false }
        guard let acl else { return true }
        // Each entry that denies writing must deny appending too, and each that allows appending must allow writing.
        // The mode bits have one right for both. An entry that allows writing alone does no harm.
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
