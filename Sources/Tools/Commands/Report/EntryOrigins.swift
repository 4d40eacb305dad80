import Authorization

/// Where an entry comes from.
enum EntryOrigin: Hashable {
    /// It was set on the object itself.
    case own
    /// Inherited from the directory of this level: 0 is the directory of the report, -1 the one above.
    case level(Int)
    /// Inherited from above all directories that were read.
    case above
    /// Marked as inherited, but the directory has no such entry to inherit: it was changed later, or the object was moved.
    case nowhere
}

/// The list of a directory with the origin of each entry.
struct OriginatedList {
    var entries: [ACE]
    var origins: [EntryOrigin]
    var level: Int
}

extension EntryOrigin {
    /// - Parameters:
    ///   - entries: of an object.
    ///   - kind: its kind.
    ///   - parent: the list of its directory; nil if that was not read.
    /// - Returns: the origin of each entry.
    static func of(_ entries: [ACE], _ kind: ObjectKind, in parent: OriginatedList?) -> [EntryOrigin] {
        entries.map { entry in
            guard entry.flags.contains(.inherited) else { return .own }
            guard let parent else { return .above }
            guard let index = parent.entries.firstIndex(where: { $0.inherited(by: kind) == entry }) else { return .nowhere }
            return parent.origins[index] == .own ? .level(parent.level) : parent.origins[index]
        }
    }
}
