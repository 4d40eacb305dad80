import Authorization
import ReferenceModel
import TestSupport
import Testing

/// docs/reference/authorization.md 5.6 and Q25: what both evaluators make of an existing object.
@Suite struct PropagationTests {
    @Test func bothMakeTheSameOfAnExistingObject() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let words: [(word: String, flag: ACEFlags)] = [
            ("inherited", .inherited), ("file_inherit", .fileInherit), ("directory_inherit", .directoryInherit),
            ("limit_inherit", .limitInherit), ("only_inherit", .onlyInherit),
        ]
        let kinds: [(word: String, kind: ObjectKind)] = [("file", .file), ("dir", .directory), ("fifo", .fifo)]
        func model(_ acl: ACL?) -> [ModelEntry]? {
            acl?.entries.map { entry in
                ModelEntry(
                    who: String(entry.guid.low), kind: entry.kind == .deny ? "deny" : "allow", rights: ["read"],
                    flags: Set(words.filter { entry.flags.contains($0.flag) }.map(\.word)))
            }
        }
        var (protected, changed) = (0, 0)
        for _ in 0..<20_000 {
            func list() -> ACL? {
                if random.chance(20) { return nil }
                let entries = (0..<random.below(5)).map { _ in
                    ACE(
                        GUID(user: UInt32(random.below(4))), random.chance(50) ? .allow : .deny, .read,
                        flags: words.reduce(into: []) { if random.chance(40) { $0.insert($1.flag) } })
                }
                return ACL(entries, listFlags: random.chance(30) ? ACL.noInherit : 0)
            }
            let (parent, old, kind) = (list(), list(), random.pick(kinds))
            let result = try propagatedACL(from: parent, to: kind.kind, over: old)
            let isProtected = old?.isProtected == true
            let expected = reapplyInheritance(
                parentACL: model(parent), kind: kind.word, old: model(old), oldFlags: isProtected ? ["no_inherit"] : [])
            guard model(result) == expected, result?.isProtected ?? false == isProtected else {
                Issue.record(
                    "seed \(seed): \(kind.word) \(String(describing: old)) in \(String(describing: parent)): \(String(describing: result))")
                return
            }
            protected += isProtected ? 1 : 0
            changed += result != old ? 1 : 0
        }
        #expect(protected > 1000 && changed > 5000)
    }
}
