import Authorization
import Foundation
import ReferenceModel
import TestSupport
import Testing

/// The evaluator that the file system uses against the one that was written down from the rules. Both
/// take the same cases; they must agree on result, errno, stage and effect.
@Suite struct FastAgainstModelTests {
    static let isLong = ProcessInfo.processInfo.environment["ACLFS_TEST_LONG"] == "1"

    /// ACLFS_SEED repeats a run.
    static let seed =
        ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)

    @Test func agreeOnTheSmallWorldOfOneObject() async throws {
        let world = SmallWorld.oneObject
        try await compare(world.count, "small world of one object") { world[$0] }
    }

    @Test func agreeOnTheSmallWorldOfRemoval() async throws {
        let world = SmallWorld.removal
        try await compare(world.count, "small world of removal") { world[$0] }
    }

    @Test func agreeOnRandomCases() async throws {
        print("FastAgainstModelTests: ACLFS_SEED=\(Self.seed)")
        let count = Self.isLong ? 2_000_000 : 100_000
        let comparison = try EvaluatorComparison()
        let perPart = 10_000
        let found = await withTaskGroup(of: ComparisonResult.self) { group in
            for part in 0..<count / perPart {
                group.addTask {
                    var generator = RandomCaseGenerator(seed: Self.seed &+ UInt64(part))
                    var result = ComparisonResult()
                    for _ in 0..<perPart { comparison.judge(generator.next(), into: &result) }
                    return result
                }
            }
            return await group.reduce(into: ComparisonResult()) { $0.add($1) }
        }
        #expect(found.compared + found.settledBefore == count)
        // Cases settled before the core is asked are few, or the comparison would be empty.
        #expect(found.settledBefore * 10 < count)
        report(found, comparison, "random cases, ACLFS_SEED=\(Self.seed)")
    }

    private func compare(
        _ count: Int, _ title: String, _ vector: @escaping @Sendable (Int) -> Vector
    ) async throws {
        let comparison = try EvaluatorComparison()
        let parts = 8
        let found = await withTaskGroup(of: ComparisonResult.self) { group in
            for part in 0..<parts {
                group.addTask {
                    var result = ComparisonResult()
                    for number in stride(from: part, to: count, by: parts) {
                        comparison.judge(vector(number), into: &result)
                    }
                    return result
                }
            }
            return await group.reduce(into: ComparisonResult()) { $0.add($1) }
        }
        #expect(found.compared == count)
        report(found, comparison, title)
    }

    /// Shows the differences by kind, each once, as small as they get and ready to become a vector.
    private func report(_ found: ComparisonResult, _ comparison: EvaluatorComparison, _ title: String) {
        if found.differing == 0 { return }
        let examples = found.examples.values.prefix(12).map { vector in
            let small = shrink(vector) { comparison.difference($0) != nil }
            return "\(comparison.difference(small) ?? "agrees")\n  \(small.text)"
        }
        Issue.record("\(title): \(found.differing) of \(found.compared) differ\n\(examples.joined(separator: "\n"))")
    }
}

struct ComparisonResult: Sendable {
    var compared = 0
    var settledBefore = 0
    var differing = 0
    /// One case of each kind of difference.
    var examples: [String: Vector] = [:]

    mutating func add(_ other: ComparisonResult) {
        compared += other.compared
        settledBefore += other.settledBefore
        differing += other.differing
        examples.merge(other.examples) { first, _ in first }
    }
}

struct EvaluatorComparison: Sendable {
    let groups: [UInt32: VectorGroup]
    let directory: ModelDirectory
    /// Of every caller; nil: as the vectors have it.
    var capabilities: Capabilities?

    init() throws {
        groups = try VectorFiles.vectors().groups
        directory = ModelDirectory(groups)
    }

    func judge(_ vector: Vector, into result: inout ComparisonResult) {
        let outcome = answer(vector)
        if settlesBeforeTheCore(vector, outcome) {
            result.settledBefore += 1
            return
        }
        result.compared += 1
        if let (kind, _) = difference(vector, outcome) {
            result.differing += 1
            if result.examples[kind] == nil { result.examples[kind] = vector }
        }
    }

    private func answer(_ vector: Vector) -> ModelOutcome {
        vector.decideByModel(directory, capabilities: capabilities.map { Set($0.names) })
    }

    func difference(_ vector: Vector) -> String? {
        let outcome = answer(vector)
        if settlesBeforeTheCore(vector, outcome) { return nil }
        return difference(vector, outcome)?.text
    }

    /// What the core is never asked, because whoever resolves the objects has answered (docs/reference/authorization.md
    /// 2.2 "first"): whether a name exists, whether the two objects of a rename are of one kind,
    /// what a node can carry or a call can make. The model answers these as well.
    private func settlesBeforeTheCore(_ vector: Vector, _ outcome: ModelOutcome) -> Bool {
        switch (outcome.stage, vector.op.call) {
        case ("precondition:exists", _), ("precondition:unsupported_node", _), ("precondition:acl_too_long", _),
            ("precondition:is_directory", "rename"), ("precondition:not_directory", "rename"),
            ("precondition:not_regular", "exchangedata"), ("precondition:protected_xattr", "getxattr"):
            true
        // Making a socket by mknod is bind(2) on Linux and is refused on macOS.
        case ("precondition:superuser", "mknod"): vector.op.type == "socket"
        default: outcome.stage.hasPrefix("precondition:missing_")
        }
    }

    private func difference(_ vector: Vector, _ model: ModelOutcome) -> (kind: String, text: String)? {
        let core: CoreOutcome
        let unobserved: CoreOutcome
        let logged: CoreOutcome
        do {
            var converted = try vector.coreCase(groups)
            if let capabilities { converted.caller.capabilities = capabilities }
            core = converted.decide(observer: RecordingObserver())
            unobserved = converted.decide(observer: NoObserver())
            logged = converted.decide(observer: StageObserver())
        } catch {
            return ("conversion", "\(error)")
        }
        let call = vector.op.call
        if core.errno != unobserved.errno {
            return ("\(call) observed", "observed \(core.errno ?? "allowed"), not \(unobserved.errno ?? "allowed")")
        }
        // What `explain --last` and `audit=` keep names the stage that `explain` derives: of each refusal, and with `audit=all` of each
        // decision.
        for kept in [unobserved.allowed ? core : unobserved, logged] where kept.decision != core.decision {
            return ("\(call) kept", "\(call): kept \(kept.stage), explained \(core.stage)")
        }
        // Which one decides is for the tests of the core.
        let stage = core.stage.hasPrefix("capability:") ? "capability" : core.stage
        if core.allowed != model.allowed || core.errno != model.errno || stage != model.stage {
            let text =
                "\(call): core \(core.errno ?? "allowed") \(core.stage), model \(model.errno ?? "allowed") \(model.stage)"
            return (text.filter { !$0.isNumber }, text)
        }
        guard let effects = model.effects, let effect = core.effect else { return nil }
        do {
            let differences = try effects.vector.differences(from: effect)
            if differences.isEmpty { return nil }
            return ("\(call) effect", "\(call): core \(differences.joined(separator: ", ")), model \(effects)")
        } catch {
            return ("effects", "\(error)")
        }
    }
}
