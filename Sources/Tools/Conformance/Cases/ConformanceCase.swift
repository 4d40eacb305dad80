/// One line of a run: calls, and what they must give.
public struct ConformanceCase: Sendable {
    /// The numbers of the rules of docs/reference/semantics.md that it shows.
    public var rules: [Int]
    /// The vector that it plays, such as "V001".
    public var vector: String?
    public var title: String
    /// Calls of root that build the objects. If one fails, the case fails: the documented way to build does not work.
    public var setup: [Step] = []
    public var steps: [Step] = []
    /// Why a run does not play it; nil if it does.
    public var skipped: String?

    init(rules: [Int], vector: String? = nil, title: String) { (self.rules, self.vector, self.title) = (rules, vector, title) }

    /// The documents that state the rules.
    public var source: String { Rule.Source.text(rules.compactMap { Rule.numbered($0)?.source }) }

    /// Rules, vector and title: "S18 V002 owner with no …".
    public var name: String { (rules.map { "S\($0)" } + [vector, title].compactMap { $0 }).joined(separator: " ") }
}
