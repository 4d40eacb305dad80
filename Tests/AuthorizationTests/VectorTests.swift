import Authorization
import TestSupport
import Testing

/// The evaluator against cases whose answers were obtained by execution elsewhere: result, errno, stage
/// and effects, and that watching it changes nothing.
@Suite struct VectorTests {
    private func differences(_ vector: Vector, _ groups: [UInt32: VectorGroup]) throws -> [String] {
        guard let expect = vector.expect else { return ["no expectation"] }
        let core = try vector.coreCase(groups, ownerFromSetUserDirectory: true)
        let outcome = core.decide(observer: RecordingObserver())
        var differences: [String] = []
        if outcome.allowed != (expect.result == "allow") { differences.append("result \(outcome.allowed)") }
        if outcome.errno != expect.errno { differences.append("errno \(outcome.errno ?? "none")") }
        if outcome.stage != expect.stage { differences.append("stage \(outcome.stage)") }
        if let effects = expect.effects, let effect = outcome.effect {
            differences += try effects.differences(from: effect)
        }
        // Production asks for fewer memberships; it must not answer differently.
        let fast = core.decide(observer: NoObserver())
        if fast.errno != outcome.errno || fast.effect != outcome.effect {
            differences.append("unobserved \(fast.errno ?? "allowed")")
        }
        return differences
    }

    /// Nothing is left out but the effects of calls for which the core only decides.
    private func compare(_ vectors: [Vector], count: Int, withoutEffect: Set<String>) throws {
        #expect(vectors.count == count)
        let groups = try VectorFiles.vectors().groups
        var failures: [String] = []
        var effectsNotCompared: Set<String> = []
        for vector in vectors {
            let found = try differences(vector, groups)
            if !found.isEmpty { failures.append("\(found.joined(separator: ", ")): \(vector.text)") }
            if vector.expect?.effects != nil, vector.expect?.result == "allow",
                try vector.coreCase(groups).decide(observer: NoObserver()).effect == nil
            {
                effectsNotCompared.insert(vector.op.call)
            }
        }
        #expect(failures.isEmpty, "\(failures.count) differ\n\(failures.prefix(10).joined(separator: "\n"))")
        #expect(effectsNotCompared == withoutEffect)
    }

    @Test func agreesWithEveryVector() throws {
        try compare(VectorFiles.vectors().vectors, count: 84, withoutEffect: [])
    }

    @Test func agreesWithEveryRandomDecision() throws {
        try compare(VectorFiles.randomDecisions(), count: 4000, withoutEffect: [])
    }

    @Test func agreesWithEveryRandomInheritance() throws {
        let vectors = try VectorFiles.randomInheritance()
        #expect(vectors.count == 700)
        for vector in vectors {
            let supplied = try vector.initialACL.map { try ACL(vector: $0, listFlags: vector.initialACLFlags ?? []) }
            let parent = try vector.parentACL.map { try ACL(vector: $0) }
            let expected = try vector.expect.acl.map { try ACL(vector: $0) }
            let kind = try ObjectKind(vectorWord: vector.kind)
            do throws(TooManyEntries) {
                let result = try inheritedACL(from: parent, by: kind, supplied: supplied)
                #expect(vector.expect.errno == nil, "\(vector.id)")
                #expect(result == expected, "\(vector.id)")
            } catch {
                #expect(vector.expect.errno == "ENOMEM", "\(vector.id)")
            }
        }
    }

    /// The guide's figures B-1 and B-2: five states of eight items (docs/reference/authorization.md 5.7). Propagation is 5.6: explicit entries,
    /// then what the parent's new list gives.
    @Test func agreesWithTheTree() throws {
        let figure = try VectorFiles.vectors().treeVectors
        #expect(figure.tree.count == 8)
        #expect(figure.steps.count == 5)
        func entry(_ letter: Character) -> ACE {
            ACE(
                GUID(user: UInt32(letter.unicodeScalars.first?.value ?? 0)), .allow, .read,
                flags: [.fileInherit, .directoryInherit])
        }
        func letters(_ acl: ACL?) -> [String] {
            (acl?.entries ?? []).map { entry in
                guard case .user(let code) = Principal(entry.guid), let scalar = Unicode.Scalar(code) else { return "?" }
                return entry.flags.contains(.inherited) ? String(scalar).lowercased() : String(scalar)
            }
        }
        var lists: [String: ACL] = [:]
        // Parents stand before children in the tree.
        func propagate(from top: String) throws {
            var below: Set<String> = [top]
            for item in figure.tree {
                guard let parent = item.parent, below.contains(parent) else { continue }
                below.insert(item.name)
                lists[item.name] = try propagatedACL(
                    from: lists[parent], to: ObjectKind(vectorWord: item.type), over: lists[item.name])
            }
        }
        for step in figure.steps {
            switch step.step {
            case 0:
                lists["Directory 0"] = ACL([entry("A")])
                try propagate(from: "Directory 0")
            case 1: lists["Subdirectory 2", default: ACL([])].entries.insert(entry("C"), at: 0)
            case 2: try propagate(from: "Subdirectory 2")
            case 3: lists["Directory 0"] = ACL([entry("B")])
            case 4: try propagate(from: "Directory 0")
            default: Issue.record("unknown step \(step.step)")
            }
            for item in figure.tree {
                #expect(letters(lists[item.name]) == step.state[item.name], "\(item.name), step \(step.step)")
            }
        }
    }
}
