import ACLFormats

/// The answer to `explain`.
public struct ExplainAnswer: ControlAnswer {
    /// nil if it is not understood.
    public var explanation: Explanation?

    public init(_ explanation: Explanation) { self.explanation = explanation }

    public init(reading result: JSON) { explanation = Explanation(json: result) }

    public var json: JSON { explanation?.json() ?? .null }
}

/// The answer to `effective`: one explanation for each right, or a single one that holds for all of them.
public struct EffectiveAnswer: ControlAnswer {
    public var explanations: [Explanation]

    public init(_ explanations: [Explanation]) { self.explanations = explanations }

    public init(reading result: JSON) { explanations = (result.array ?? []).compactMap { Explanation(json: $0) } }

    public var json: JSON { .array(explanations.map { $0.json() }) }
}
