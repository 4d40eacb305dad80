// docs/authorization.md 5.1 and 5.2.

/// A new object would have more than 128 entries; it is not created.
public struct TooManyEntries: Error, Sendable { public init() {} }

extension ACE {
    /// The entry as a new object inherits it (5.2).
    ///
    /// - Parameter kind: the kind of the new object.
    /// - Returns: the inherited entry, or nil if an object of this kind does not inherit it.
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

/// The list of a new object (5.1): the explicit entries of the supplied list, then the inherited ones in the directory's order.
/// Symbolic links inherit nothing.
///
/// - Parameters:
///   - parent: the directory's list.
///   - kind: the kind of the new object.
///   - supplied: a list supplied with the call.
/// - Returns: the list; nil = none.
/// - Throws: `TooManyEntries` if it would be too long.
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
    // XNU counts before it removes the entries marked inherited from the supplied list.
    if (supplied?.entries.count ?? 0) + inheritedEntries.count > ACL.maximumEntryCount { throw TooManyEntries() }
    if inheritedEntries.isEmpty, supplied == nil { return nil }
    let explicit = (supplied?.entries ?? []).filter { !$0.flags.contains(.inherited) }
    return ACL(explicit + inheritedEntries)
}

/// The list of an existing object to which inheritance is applied (5.6): its explicit entries, then those of the directory.
/// Symbolic links inherit nothing.
///
/// - Parameters:
///   - parent: the directory's list.
///   - kind: the kind of the object.
///   - old: the object's list.
/// - Returns: the list; nil = none.
/// - Throws: `TooManyEntries` if it would be too long.
public func propagatedACL(from parent: ACL?, to kind: ObjectKind, over old: ACL?) throws(TooManyEntries) -> ACL? {
    var entries = (old?.entries ?? []).filter { !$0.flags.contains(.inherited) }
    if kind != .symlink {
        for entry in parent?.entries ?? [] {
            if let copy = entry.inherited(by: kind) { entries.append(copy) }
        }
    }
    if entries.count > ACL.maximumEntryCount { throw TooManyEntries() }
    return entries.isEmpty ? nil : ACL(entries, listFlags: old?.listFlags ?? 0)
}
