import Authorization

/// The order in which chmod keeps entries (docs/authorization.md 7.4): explicit deny, explicit allow, inherited
/// deny, inherited allow. All inherited entries are one generation.
public enum CanonicalOrder {
    /// The class of an entry. Reserved kinds, which nothing evaluates, rank with allow.
    public static func rank(of entry: ACE) -> Int {
        (entry.flags.contains(.inherited) ? 2 : 0) + (entry.kind == .deny ? 0 : 1)
    }

    /// Whether the classes never go back.
    public static func isCanonical(_ entries: [ACE]) -> Bool {
        zip(entries, entries.dropFirst()).allSatisfy { rank(of: $0) <= rank(of: $1) }
    }

    /// Where a new entry goes: the top of its class.
    public static func position(for entry: ACE, in entries: [ACE]) -> Int {
        entries.firstIndex { rank(of: $0) >= rank(of: entry) } ?? entries.count
    }
}
