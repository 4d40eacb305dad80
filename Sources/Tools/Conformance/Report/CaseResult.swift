/// What came of one case.
public struct CaseResult: Sendable {
    public enum Outcome: Sendable, Hashable {
        case ok
        /// The calls whose answers were not the expected ones.
        case notOK([String])
        /// Why it was not played.
        case skipped(String)
    }

    /// From 1 on.
    public var number: Int
    public var played: ConformanceCase
    public var outcome: Outcome

    public init(number: Int, played: ConformanceCase, outcome: Outcome) {
        (self.number, self.played, self.outcome) = (number, played, outcome)
    }
}

/// How many cases had which outcome.
public struct CaseCounts: Sendable, Hashable {
    public var ok = 0
    public var notOK = 0
    public var skipped = 0
    public init() {}

    public mutating func count(_ outcome: CaseResult.Outcome) {
        switch outcome {
        case .ok: ok += 1
        case .notOK: notOK += 1
        case .skipped: skipped += 1
        }
    }
}
