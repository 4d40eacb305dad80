import Authorization
import ReferenceModel
import TestSupport
import Testing

/// docs/reference/authorization.md 3.12, by both evaluators: random callers with random capabilities.
@Suite struct CapabilityComparisonTests {
    private static let each: [Capabilities] = [.chown, .dacOverride, .readSearch, .fowner, .fsetid, .linuxImmutable, .mknod]

    private func some(_ random: inout SplitMix64) -> Capabilities {
        Capabilities(Self.each.filter { _ in random.chance(35) })
    }

    @Test func bothEvaluatorsAgree() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var comparison = try EvaluatorComparison()
        var generator = RandomCaseGenerator(seed: seed)
        var random = SplitMix64(seed: ~seed)
        var result = ComparisonResult()
        for _ in 0..<60_000 {
            comparison.capabilities = some(&random)
            comparison.judge(generator.next(), into: &result)
        }
        #expect(result.compared > 50_000)
        #expect(
            result.differing == 0,
            "seed \(seed): \(result.examples.map { "\($0.key)\n\($0.value.text)" }.prefix(6).joined(separator: "\n"))")
    }

    /// One capability more turns no yes into a no; for uid 0 the three make root, whom other rules bind.
    @Test func aCapabilityOnlyAdds() throws {
        let seed = UInt64.random(in: 0 ... .max)
        let groups = try VectorFiles.vectors().groups
        var generator = RandomCaseGenerator(seed: seed)
        var random = SplitMix64(seed: ~seed)
        var wrong: [String] = []
        var gained = 0
        for _ in 0..<30_000 {
            let vector = generator.next()
            var asked = try vector.coreCase(groups)
            if asked.caller.uid == 0 { continue }
            asked.caller.capabilities = some(&random)
            let was = asked.decide(observer: NoObserver()).allowed
            asked.caller.capabilities.formUnion(random.pick(Self.each))
            let isNow = asked.decide(observer: NoObserver()).allowed
            if was, !isNow { wrong.append(vector.text) }
            if isNow, !was { gained += 1 }
        }
        #expect(gained > 500)
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.count)\n\(wrong.prefix(3).joined(separator: "\n"))")
    }
}
