import Authorization

/// The words of an export: those after `# ` in the text form, and the members of the lines of JSON. One list for both.
enum ExportWord: String, CaseIterable {
    // Before the objects.
    case aclfs, version, source, order, entries
    /// An identity of a name.
    case name, uuid
    // One object.
    case file, path, kind, owner, group, mode, flags, backup, acl
    // One that could not be read.
    case unread, reason
    /// The number of objects, at the end.
    case end

    static let export = "export"
    static let bytes = "bytes"
    static let shown = "shown"
    static let excluded = "excluded"
    static let included = "included"
    static let none = "none"
    static let empty = "empty"
}

/// The values of an object's lines, which both forms spell alike.
enum ExportValue {
    static func mode(_ mode: FileMode) -> String {
        let digits = String(mode.rawValue, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    static func mode(_ text: some Collection<UInt8>) -> FileMode? {
        guard (3...4).contains(text.count), let number = unsignedNumber(text, radix: 8) else { return nil }
        return FileMode(rawValue: UInt16(truncatingIfNeeded: number))
    }

    static func backup(_ isExcluded: Bool) -> String { isExcluded ? ExportWord.excluded : ExportWord.included }

    static func backup(_ text: some Collection<UInt8>) -> Bool? {
        if ExportWord.excluded.utf8.elementsEqual(text) { return true }
        return ExportWord.included.utf8.elementsEqual(text) ? false : nil
    }

    /// An owner or a group: a name, a number after `#`, or as an entry has it.
    static func identity(_ identity: GUID, kind: IdentityKind, names: some IdentityNames) -> String {
        let word = ACLAttributeText.who(identity, names: names)
        let prefix = "\(kind.rawValue):"
        if word.hasPrefix(prefix) { return String(word.dropFirst(prefix.utf8.count)) }
        switch (Principal(identity), kind) {
        case (.user(let id), .user) where id != .max: return "#\(id)"
        case (.group(let id), .group) where id != .max && GUID(group: id) == identity: return "#\(id)"
        default: return word
        }
    }

    /// The lines of a list.
    static func entries(_ acl: ACL, isDirectory: Bool, names: some IdentityNames) -> [[UInt8]] {
        ACLAttributeText.write(acl, isDirectory: isDirectory, names: names).split(separator: 0x0A).map { Array($0) }
    }
}

extension ExportedObject {
    /// Takes flags as they are shown: `nodump` is the mark of backups.
    /// - Returns: false if the object is said to be included in backups.
    mutating func take(shownFlags shown: FileFlags) -> Bool {
        flags = shown.subtracting(.noDump)
        guard shown.contains(.noDump) else { return true }
        if isExcluded == false { return false }
        isExcluded = true
        return true
    }
}
