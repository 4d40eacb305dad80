// docs/authorization.md 5.1 and 5.2.

/// More than 128 entries would result: creation fails, nothing exists.
public struct TooManyEntries: Error, Sendable { public init() {} }

extension ACE {
    /// The entry as a new object of this kind receives it from its directory; nil = not inherited (5.2).
    public func inherited(by kind: ObjectKind) -> ACE? {
        let wanted: ACEFlags = kind == .directory ? .directoryInherit : .fileInherit
        guard flags.contains(wanted) else { return nil }
        var entry = self
        if kind != .directory || flags.contains(.limitInherit) {
            entry.flags.subtract(.inheritanceControl)
        } else {
            entry.flags.remove(.onlyInherit)
        }
        entry.flags.insert(.inherited)
        return entry
    }
}

/// The list of a new object (5.1): the supplied explicit entries, then the directory's in its order.
/// nil = no ACL. Symbolic links inherit nothing.
public func inheritedACL(
    from parent: ACL?, by kind: ObjectKind, supplied: ACL? = nil
) throws(TooManyEntries) -> ACL? {
    if kind == .symlink { return nil }
    let refuses = (supplied?.listFlags ?? 0) & ACL.noInherit != 0
    let source = refuses ? [] : parent?.entries ?? []
    var inheritedEntries: [ACE] = []
    for entry in source {
        if let copy = entry.inherited(by: kind) { inheritedEntries.append(copy) }
    }
    // Counted before entries marked inherited are dropped from the supplied list.
    if (supplied?.entries.count ?? 0) + inheritedEntries.count > ACL.maximumEntryCount { throw TooManyEntries() }
    if inheritedEntries.isEmpty, supplied == nil { return nil }
    let explicit = (supplied?.entries ?? []).filter { !$0.flags.contains(.inherited) }
    return ACL(explicit + inheritedEntries)
}
