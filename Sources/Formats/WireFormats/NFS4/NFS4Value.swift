import Authorization

/// The two attributes that hold a list in a form of NFSv4. Samba has a third one, `SMBValue`.
public enum NFS4Form: Sendable, Hashable, CaseIterable {
    /// `system.nfs4_acl`, as nfs4-acl-tools read and write it: identities are strings.
    case named
    /// `system.nfs4_acl_xdr`, as TrueNAS has it: identities are numbers.
    case numbered
}

/// What a value of NFSv4 says about an object.
public struct NFS4Value: Sendable, Hashable {
    /// All entries of the value, those at its end included that may stand for a mode.
    public var entries: [ACE]
    public var listFlags: UInt32

    /// Reads a value. Identities are resolved, so account databases may be asked.
    /// - Throws: the first error, with its position.
    public init(_ value: [UInt8], as form: NFS4Form, names: some WireNames) throws(NFS4Error) {
        listFlags = 0
        switch form {
        case .named: entries = try NamedForm.read(value, names: names)
        case .numbered: (entries, listFlags) = try NumberedForm.read(value)
        }
    }

    /// The list to store, and the mode to set.
    /// - Parameter isDirectory: whether the object is a directory: the entries that stand for a mode depend on it.
    /// - Returns: the list; the bits 0777 of the mode, or nil if the mode stays.
    /// - Throws: if there are too many entries.
    public func divided(isDirectory: Bool) throws(NFS4Error) -> (acl: ACL, permissions: UInt16?) {
        let (stored, permissions) = ModeEntries.split(entries, isDirectory: isDirectory)
        if stored.count > ACL.maximumEntryCount { throw NFS4Error(.tooManyEntries(UInt32(stored.count))) }
        return (ACL(stored, listFlags: listFlags), permissions)
    }

    /// The same in the place of a list that is there.
    /// - Parameters:
    ///   - acl: of `divided`. Inherited entries keep the identity that they have; the mark `no_inherit`, for which `system.nfs4_acl` has no
    ///     word, stays.
    ///   - facts: of the object.
    public static func replacing(_ acl: ACL, over facts: ObjectFacts, as form: NFS4Form) -> ACL {
        let known = (facts.acl?.entries ?? []).map { (stored: $0, forms: [$0]) }
        let mark = form == .named && facts.acl?.isProtected == true ? ACL.noInherit : 0
        return ACL(KeptIdentities(facts, known).restored(acl.entries, .inherited), listFlags: acl.listFlags | mark)
    }

    /// Writes the value of an object: its list, and the entries that stand for its mode.
    /// - Parameters:
    ///   - acl: the list; nil = none.
    ///   - mode: the mode.
    ///   - isDirectory: whether the object is a directory.
    ///   - form: of the attribute.
    ///   - names: gives names to identities. Account databases may be asked.
    /// - Throws: if an entry has no form in NFSv4.
    public static func write(
        _ acl: ACL?, mode: FileMode, isDirectory: Bool, as form: NFS4Form, names: some WireNames
    ) throws(NFS4Error) -> [UInt8] {
        let stored = acl ?? ACL([])
        let ofMode = ModeEntries.entries(for: mode, isDirectory: isDirectory)
        switch form {
        case .named:
            // The mark has no word here, and stays when the value is set again (`replacing`).
            let unknown = stored.listFlags & ~ACL.noInherit
            if unknown != 0 { throw NFS4Error(.listFlagsWithoutForm(unknown)) }
            return try NamedForm.write(stored.entries + ofMode, names: names)
        case .numbered:
            return try NumberedForm.write(
                stored.entries + ofMode, listFlags: stored.listFlags, isTrivial: stored.entries.isEmpty, isDirectory: isDirectory)
        }
    }

    /// - Throws: if a value claims more entries than a list with those of a mode can have.
    static func checkCount(_ count: UInt32) throws(NFS4Error) {
        if count > UInt32(ACL.maximumEntryCount + ModeEntries.most) { throw NFS4Error(.tooManyEntries(count)) }
    }
}
