/// Lines of the Test Anything Protocol, which prove(1) reads.
public enum TAP {
    public static func plan(_ count: Int) -> String { "1..\(count)" }

    /// The line of a case, and behind a failed one what differed.
    public static func lines(_ result: CaseResult) -> [String] {
        let text = "\(result.number) - \(plain(result.played.name)) [\(result.played.source)]"
        switch result.outcome {
        case .ok: return ["ok \(text)"]
        case .skipped(let reason): return ["ok \(text) # SKIP \(plain(reason))"]
        case .notOK(let differences): return ["not ok \(text)"] + differences.map { "#   \($0)" }
        }
    }

    /// The last line, for people.
    public static func summary(_ counts: CaseCounts) -> String {
        "# ok \(counts.ok), not ok \(counts.notOK), skipped \(counts.skipped)"
    }

    /// The line that says that there will be no more.
    public static func bailOut(_ reason: String) -> String { "Bail out! \(reason)" }

    /// A number sign would begin a directive.
    private static func plain(_ text: String) -> String {
        text.split(separator: "#", omittingEmptySubsequences: false).joined(separator: "\\#")
    }
}
