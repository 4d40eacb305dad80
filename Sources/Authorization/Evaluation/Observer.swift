/// Receives the steps of an evaluation. The evaluator is generic over it, so that production (records nothing) and `explain`
/// (records everything) run the same code.
public protocol EvaluationObserver {
    /// Whether the stage of a grant must be exact even where the outcome does not depend on it. The price is look-ups of memberships
    /// that the outcome does not need. The stage of a refusal is always exact.
    static var wantsExactStages: Bool { get }
    /// A check of an operation begins.
    mutating func beginCheck(_ check: Check)
    /// The scan came to the entry at `index` of the list of the object in this role.
    mutating func entryConsidered(_ role: ObjectRole, _ index: Int, _ entry: ACE, applied: EntryEffect)
    /// A stage granted rights of the current check.
    mutating func stage(_ stage: Stage, granted: Rights)
    /// An entry of the object's POSIX ACL is about to decide.
    mutating func posixEntry(_ role: ObjectRole, _ index: Int)
    /// The current check ended in this decision, or the operation was refused before its first check.
    mutating func endCheck(_ decision: Decision)
}

/// What an entry did to the request when the scan came to it.
public enum EntryEffect: Sendable, Hashable {
    case inheritOnly, irrelevant, reservedKind, notCovered
    case allowed(Rights)
    case denied(Rights)
}

/// Production: records nothing and compiles to nothing.
public struct NoObserver: EvaluationObserver, Sendable {
    public init() {}
    public static var wantsExactStages: Bool { false }
    public mutating func beginCheck(_ check: Check) {}
    public mutating func entryConsidered(_ role: ObjectRole, _ index: Int, _ entry: ACE, applied: EntryEffect) {}
    public mutating func stage(_ stage: Stage, granted: Rights) {}
    public mutating func posixEntry(_ role: ObjectRole, _ index: Int) {}
    public mutating func endCheck(_ decision: Decision) {}
}

/// For a log that shows grants too: records nothing either, but the stage of each decision is exact.
public struct StageObserver: EvaluationObserver, Sendable {
    public init() {}
    public static var wantsExactStages: Bool { true }
    public mutating func beginCheck(_ check: Check) {}
    public mutating func entryConsidered(_ role: ObjectRole, _ index: Int, _ entry: ACE, applied: EntryEffect) {}
    public mutating func stage(_ stage: Stage, granted: Rights) {}
    public mutating func posixEntry(_ role: ObjectRole, _ index: Int) {}
    public mutating func endCheck(_ decision: Decision) {}
}

/// For `explain`: one event for each step, in order.
public struct RecordingObserver: EvaluationObserver, Sendable {
    /// One step of an evaluation.
    public enum Event: Sendable, Hashable {
        case check(Check)
        case entry(ObjectRole, Int, ACE, EntryEffect)
        case stage(Stage, granted: Rights)
        case posixEntry(ObjectRole, Int)
        case decision(Decision)
    }
    public private(set) var events: [Event] = []
    public init() {}
    public static var wantsExactStages: Bool { true }
    public mutating func beginCheck(_ check: Check) { events.append(.check(check)) }
    public mutating func entryConsidered(_ role: ObjectRole, _ index: Int, _ entry: ACE, applied: EntryEffect) {
        events.append(.entry(role, index, entry, applied))
    }
    public mutating func stage(_ stage: Stage, granted: Rights) { events.append(.stage(stage, granted: granted)) }
    public mutating func posixEntry(_ role: ObjectRole, _ index: Int) { events.append(.posixEntry(role, index)) }
    public mutating func endCheck(_ decision: Decision) { events.append(.decision(decision)) }
}
