import ReferenceModel
import TestSupport
import Testing

/// The sources of cases themselves: complete, reproducible, and acceptable to both evaluators.
@Suite struct CaseSourceTests {
    private func directory() throws -> ModelDirectory { ModelDirectory(try VectorFiles.vectors().groups) }

    @Test func generatorIsReproducible() {
        var first = RandomCaseGenerator(seed: 7)
        var second = RandomCaseGenerator(seed: 7)
        var other = RandomCaseGenerator(seed: 8)
        let cases = (0..<200).map { _ in first.next() }
        #expect(cases == (0..<200).map { _ in second.next() })
        #expect(cases.map(\.op) != (0..<200).map { _ in other.next().op })
    }

    /// Every call is drawn, and each is both allowed and refused; every kind of stage is reached.
    @Test func generatorReachesEveryRule() throws {
        let directory = try directory()
        var generator = RandomCaseGenerator(seed: 20)
        var allowed: Set<String> = []
        var refused: Set<String> = []
        var stages: Set<String> = []
        for _ in 0..<8000 {
            let vector = generator.next()
            let outcome = vector.decideByModel(directory)
            if outcome.allowed { allowed.insert(vector.op.call) } else { refused.insert(vector.op.call) }
            stages.insert(String(outcome.stage.prefix { $0 != "[" }))
        }
        #expect(allowed == Set(RandomCaseGenerator.calls))
        #expect(refused == Set(RandomCaseGenerator.calls))
        let expected: Set<String> = [
            "sandbox", "attr_policy", "ownership_ignored", "root", "root:no_x_bit", "owner_right", "acl:object",
            "acl:parent", "acl:target", "acl:target_parent", "flags:object", "flags:parent", "flags:target",
            "flags:target_parent", "sticky", "posix:owner:object", "posix:group:object", "posix:other:object",
            "posix:owner:parent", "posix:group:target_parent", "no_bsd_equivalent", "implicit",
            "precondition:read_only", "precondition:no_exec", "precondition:exists", "precondition:superuser",
        ]
        #expect(expected.subtracting(stages) == [])
        #expect(!stages.contains { $0.hasPrefix("precondition:missing_") || $0 == "precondition:unmapped" })
    }

    /// Whatever is drawn or read has a value in the core.
    @Test func everyCaseConvertsToTheCore() throws {
        var generator = RandomCaseGenerator(seed: 3)
        let drawn = (0..<2000).map { _ in generator.next() }
        for vector in try VectorFiles.vectors().vectors + VectorFiles.randomDecisions() + drawn {
            for node in [vector.parent, vector.object, vector.targetParent, vector.target] { _ = try node?.core() }
            _ = try vector.op.initialCoreACL()
        }
    }

    @Test func vectorsSurviveJSON() throws {
        var generator = RandomCaseGenerator(seed: 5)
        for _ in 0..<300 {
            let vector = generator.next()
            #expect(try Vector(text: vector.text) == vector)
        }
    }

    @Test func shrinkingKeepsTheFailureOnly() throws {
        let directory = try directory()
        var generator = RandomCaseGenerator(seed: 11)
        func fails(_ vector: Vector) -> Bool {
            vector.decideByModel(directory).stage.hasPrefix("acl:parent[")
        }
        var tried = 0
        while tried < 10 {
            let vector = generator.next("unlink")
            if !fails(vector) { continue }
            tried += 1
            let small = shrink(vector, whileFailing: fails)
            #expect(fails(small))
            #expect(small.parent?.acl?.count == 1)
            #expect(small.parent?.acl?.first?.rights.count == 1)
            #expect(small.object?.acl == nil)
            #expect(small.parent?.mode.value == 0)
        }
    }

    /// The numbers of the small worlds, and that no two numbers are the same case.
    @Test func smallWorldsAreComplete() {
        #expect(SmallWorld.oneObject.count == (1 + 1 + 18 + 18 * 18 + 18 * 18 * 18) * 8 * 7)
        #expect(SmallWorld.removal.count == 44 * 44 * 6 * 4)
        var seen: Set<Int> = []
        for vector in SmallWorld.removal.cases {
            var hasher = Hasher()
            hasher.combine(vector.parent)
            hasher.combine(vector.object)
            seen.insert(hasher.finalize())
        }
        #expect(seen.count == SmallWorld.removal.count)
    }

    /// The table of docs/reference/authorization.md 4, read as a function of four factors, over the whole world of removals.
    @Test func removalFollowsTheTable() throws {
        enum Answer { case allow, deny, silent }
        func answer(_ acl: [VectorEntry]?) -> Answer {
            for entry in acl ?? [] where entry.who != "user:501" { return entry.kind == "deny" ? .deny : .allow }
            return .silent
        }
        let directory = try directory()
        var wrong: [String] = []
        for vector in SmallWorld.removal.cases(every: 7) {
            guard let parent = vector.parent, let object = vector.object else { continue }
            let ownsParent = parent.owner == 502
            let write = parent.mode.value & (ownsParent ? 0o200 : 0o020) != 0
            let sticky = parent.mode.value & 0o1000 != 0 && !ownsParent && object.owner != 502
            let expected =
                switch (answer(object.acl), answer(parent.acl)) {
                case (.deny, _): false
                case (.allow, _): true
                case (.silent, .deny): false
                case (.silent, .allow): true
                case (.silent, .silent): write && !sticky
                }
            if vector.decideByModel(directory).allowed != expected { wrong.append(vector.text) }
        }
        #expect(wrong == [])
    }
}
