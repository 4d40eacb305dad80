import Authorization

/// The order in which chmod keeps entries (docs/reference/authorization.md 7.4): explicit deny, explicit allow, inherited deny, inherited
/// allow. Entries inherited from different ancestors are not told apart.
public enum CanonicalOrder {
    /// The class of an entry. Reserved kinds, which are never evaluated, rank with allow.
    public static func rank(of entry: ACE) -> Int {
        (entry.flags.contains(.inherited) ? 2 : 0) + (entry.kind == .deny ? 0 : 1)
    }

    /// Whether the ranks never decrease.
    public static func isCanonical(_ entries: [ACE]) -> Bool {
        zip(entries, entries.dropFirst()).allSatisfy { rank(of: $0) <= rank(of: $1) }
    }

    /// The index of a new entry: the first of its class.
    public static func position(for entry: ACE, in entries: [ACE]) -> Int {
        entries.firstIndex { rank(of: $0) >= rank(of: entry) } ?? entries.count
    }
}
