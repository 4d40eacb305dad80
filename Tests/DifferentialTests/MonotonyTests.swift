import Authorization
import TestSupport
import Testing

/// docs/reference/authorization.md 3.7: one more deny never turns a no into a yes, one more allow never a yes into a no.
@Suite struct MonotonyTests {
    @Test func anotherEntryMovesTheAnswerItsOwnWayOnly() throws {
        let seed = UInt64.random(in: 0 ... .max)
        let groups = try VectorFiles.vectors().groups
        var generator = RandomCaseGenerator(seed: seed)
        var random = SplitMix64(seed: ~seed)
        var wrong: [String] = []
        for _ in 0..<20_000 {
            let before = generator.next()
            var after = before
            let denies = random.chance(50)
            let entry = VectorEntry(
                who: random.pick(["everyone", "owner", "group", "user:\(before.cred.uid)", "group:20"]),
                kind: denies ? "deny" : "allow",
                rights: random.some(of: RandomCaseGenerator.everyRight, percent: 40))
            let node: WritableKeyPath<Vector, VectorNode?> = random.pick([\.object, \.parent, \.target, \.targetParent])
            let index = random.below((before[keyPath: node]?.acl?.count ?? 0) + 1)
            after[keyPath: node]?.acl = before[keyPath: node]?.acl ?? []
            after[keyPath: node]?.acl?.insert(entry, at: index)
            let was = try before.coreCase(groups).decide(observer: NoObserver()).allowed
            let isNow = try after.coreCase(groups).decide(observer: NoObserver()).allowed
            if was != isNow, isNow == denies { wrong.append(after.text) }
        }
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.count)\n\(wrong.prefix(3).joined(separator: "\n"))")
    }
}
