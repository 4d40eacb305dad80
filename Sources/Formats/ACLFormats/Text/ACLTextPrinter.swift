import Authorization

/// Entries as `ls -le` shows them (docs/reference/authorization.md 7.2).
public enum ACLTextPrinter {
    /// The line before the entries of a list that takes nothing from its directory (docs/reference/authorization.md Q25). `chmod -E` reads it.
    public static let protectedLine = " \(ACLAttributeText.header) no_inherit"

    /// Whether a line is about the whole list.
    public static func isHeader(_ line: some Collection<UInt8>) -> Bool {
        line.drop { $0 == UInt8(ascii: " ") }.starts(with: "!#acl".utf8)
    }

    /// Whether a line says that a list has the mark, or that it has not; nil: it says neither.
    public static func isProtected(_ line: some Collection<UInt8>) -> Bool? {
        let line = line.drop { $0 == UInt8(ascii: " ") }
        if line.elementsEqual(protectedLine.utf8.dropFirst()) { return true }
        return line.elementsEqual(ACLAttributeText.header.utf8) ? false : nil
    }

    /// One line for each entry, and one before them for the mark `no_inherit`, without line ends.
    ///
    /// - Parameters:
    ///   - acl: the list.
    ///   - isDirectory: whether rights have the words of directories.
    ///   - names: gives names to identities.
    ///   - numeric: true = identities are UUIDs.
    public static func lines(
        _ acl: ACL, isDirectory: Bool, names: some IdentityNames, numeric: Bool = false
    ) -> [String] {
        (acl.isProtected ? [protectedLine] : [])
            + acl.entries.enumerated().map { index, entry in
                let who = displayedIdentity(entry.guid, names: names, numeric: numeric)
                let inherited = entry.flags.contains(.inherited) ? " inherited" : ""
                let kind =
                    switch entry.kind {
                    case .allow: "allow"
                    case .deny: "deny"
                    case nil: "unknown"
                    }
                let words = shownWords(of: entry, isDirectory: isDirectory).joined(separator: ",")
                return " \(index): \(who)\(inherited) \(kind) \(words)"
            }
    }

    /// The words that ls prints for an entry, without bits that have no word on this kind of object.
    public static func shownWords(of entry: ACE, isDirectory: Bool) -> [String] {
        var words: [String] = []
        for name in RightName.all where entry.rights.contains(name.right) {
            if isDirectory { words.append(name.directoryWord) } else if let word = name.fileWord { words.append(word) }
        }
        for name in ACEFlagName.inheritance where entry.flags.contains(name.flag) && (isDirectory || name.shownOnFiles) {
            words.append(name.word)
        }
        return words
    }
}
