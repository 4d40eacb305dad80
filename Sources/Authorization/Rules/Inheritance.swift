// docs/reference/authorization.md 5.1 and 5.2.

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
    let source = supplied?.isProtected == true ? [] : parent?.entries ?? []
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
/// Symbolic links inherit nothing, and neither does a list that carries the mark `no_inherit`, which it keeps (Q25).
///
/// - Parameters:
///   - parent: the directory's list.
///   - kind: the kind of the object.
///   - old: the object's list.
/// - Returns: the list; nil = none.
/// - Throws: `TooManyEntries` if it would be too long.
public func propagatedACL(from parent: ACL?, to kind: ObjectKind, over old: ACL?) throws(TooManyEntries) -> ACL? {
    let isProtected = old?.isProtected == true
    var entries = (old?.entries ?? []).filter { !$0.flags.contains(.inherited) }
    if kind != .symlink, !isProtected {
        for entry in parent?.entries ?? [] {
            if let copy = entry.inherited(by: kind) { entries.append(copy) }
        }
    }
    if entries.count > ACL.maximumEntryCount { throw TooManyEntries() }
    return entries.isEmpty && !isProtected ? nil : ACL(entries, listFlags: old?.listFlags ?? 0)
}

extension ACL {
    /// The list that a copy gets when the list of its original is set on it (5.5): the explicit entries of the original, then those that the
    /// copy inherited when it was created; if it inherited none, the original's list as it is. If the original's list carries the mark
    /// `no_inherit`, the copy takes nothing from its directory either; if the copy's own does, it gets no inherited entry, and keeps the mark (Q25).
    ///
    /// - Parameter current: the copy's list; nil = none.
    public func copied(onto current: ACL?) -> ACL {
        if isProtected { return self }
        if current?.isProtected == true { return ACL(withoutInheritedEntries.entries, listFlags: listFlags | Self.noInherit) }
        let inherited = current?.entries.filter { $0.flags.contains(.inherited) } ?? []
        if inherited.isEmpty { return self }
        return ACL(withoutInheritedEntries.entries + inherited, listFlags: listFlags)
    }
}
