import ACLFormats

/// A property of objects that an export states.
enum ExportProperty: String, CaseIterable {
    case kind, owner, group, mode, flags, backup, acl

    /// - Parameter words: with commas between; nil: none.
    /// - Throws: a word that is none.
    static func set(ofIgnored words: String?, known: [ExportProperty] = allCases) throws(CommandFailure) -> Set<ExportProperty> {
        var ignored: Set<ExportProperty> = []
        for word in words?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            guard let property = ExportProperty(rawValue: String(word)), known.contains(property) else {
                let all = known.map(\.rawValue)
                let near =
                    nearestWord(to: word.utf8, in: all).map { "; did you mean '\($0)'?" } ?? "; they are \(all.joined(separator: ", "))"
                throw CommandFailure("--ignore: '\(escapedName(word.utf8))' is not a property\(near)")
            }
            ignored.insert(property)
        }
        return ignored
    }

    /// Those that a command can change.
    static let changeable = allCases.filter { $0 != .kind }
}
