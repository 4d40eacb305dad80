import ReferenceModel
import TestSupport
import Testing

/// The reference model against cases whose answers were obtained by execution elsewhere.
@Suite struct ModelAgainstVectorsTests {
    /// What differs, or nil.
    private func difference(_ vector: Vector, _ directory: ModelDirectory) -> String? {
        guard let expect = vector.expect else { return "\(vector.id): no expectation" }
        let outcome = vector.decideByModel(directory)
        var differences: [String] = []
        if outcome.allowed != (expect.result == "allow") { differences.append("result \(outcome.allowed)") }
        if outcome.errno != expect.errno { differences.append("errno \(outcome.errno ?? "none")") }
        if outcome.stage != expect.stage { differences.append("stage \(outcome.stage)") }
        if let wanted = expect.effects?.model {
            // Only the members that are stated are compared.
            var got = outcome.effects ?? ModelEffects()
            if wanted.owner == nil { got.owner = nil }
            if wanted.group == nil { got.group = nil }
            if wanted.mode == nil { got.mode = nil }
            if wanted.flags == nil { got.flags = nil }
            if wanted.acl == nil { got.acl = nil }
            if got != wanted { differences.append("effects \(got)") }
        }
        return differences.isEmpty ? nil : "\(differences.joined(separator: ", ")): \(vector.text)"
    }

    private func compare(_ vectors: [Vector], count: Int) throws {
        let directory = ModelDirectory(try VectorFiles.vectors().groups)
        #expect(vectors.count == count)
        let differences = vectors.compactMap { difference($0, directory) }
        #expect(differences.isEmpty, "\(differences.count) differ\n\(differences.prefix(10).joined(separator: "\n"))")
    }

    @Test func agreesWithEveryVector() throws {
        try compare(VectorFiles.vectors().vectors, count: 84)
    }

    @Test func agreesWithEveryRandomDecision() throws {
        try compare(VectorFiles.randomDecisions(), count: 4000)
    }

    @Test func noVectorIsLeftOut() throws {
        let vectors = try VectorFiles.vectors().vectors + VectorFiles.randomDecisions()
        let directory = ModelDirectory(try VectorFiles.vectors().groups)
        let notCovered = vectors.filter { vector in
            let stage = vector.decideByModel(directory).stage
            return vector.expect == nil || stage == "precondition:unmapped" || stage.hasPrefix("precondition:missing_")
        }
        #expect(notCovered.map(\.id) == [])
    }

    @Test func agreesWithEveryRandomInheritance() throws {
        let vectors = try VectorFiles.randomInheritance()
        #expect(vectors.count == 700)
        for vector in vectors {
            let result = inherit(
                parentACL: vector.parentACL?.map(\.model), kind: vector.kind,
                suppliedACL: vector.initialACL?.map(\.model), suppliedFlags: Set(vector.initialACLFlags ?? []))
            if vector.expect.errno == "ENOMEM" {
                #expect(result == .tooMany, "\(vector.id)")
            } else {
                #expect(vector.expect.errno == nil, "\(vector.id)")
                let acl: ModelACL = vector.expect.acl.map { .present($0.map(\.model)) } ?? .absent
                #expect(result == .created(acl), "\(vector.id)")
            }
        }
    }

    /// The guide's figures B-1 and B-2: five states of eight items.
    @Test func agreesWithTheTree() throws {
        let figure = try VectorFiles.vectors().treeVectors
        #expect(figure.tree.count == 8)
        #expect(figure.steps.count == 5)

        func entry(_ letter: String, inherited: Bool) -> ModelEntry {
            ModelEntry(
                who: "uuid:\(letter)", kind: "allow", rights: ["read"],
                flags: Set(["file_inherit", "directory_inherit"] + (inherited ? ["inherited"] : [])))
        }
        func letters(_ acl: [ModelEntry]?) -> [String] {
            (acl ?? []).map { entry in
                let letter = String(entry.who.dropFirst(5))
                return entry.flags.contains("inherited") ? letter.lowercased() : letter
            }
        }
        let types = Dictionary(uniqueKeysWithValues: figure.tree.map { ($0.name, $0.type) })
        var state: [String: [ModelEntry]?] = [:]
        // Parents stand before children in the tree.
        func propagate(from top: String) {
            var below: Set<String> = [top]
            for item in figure.tree {
                guard let parent = item.parent, below.contains(parent) else { continue }
                below.insert(item.name)
                state[item.name] = reapplyInheritance(
                    parentACL: state[parent] ?? nil, kind: types[item.name] ?? "file", old: state[item.name] ?? nil)
            }
        }
        for step in figure.steps {
            switch step.step {
            case 0:
                state["Directory 0"] = [entry("A", inherited: false)]
                propagate(from: "Directory 0")
            case 1:
                state["Subdirectory 2"] = [entry("C", inherited: false)] + ((state["Subdirectory 2"] ?? nil) ?? [])
            case 2: propagate(from: "Subdirectory 2")
            case 3: state["Directory 0"] = [entry("B", inherited: false)]
            case 4: propagate(from: "Directory 0")
            default: Issue.record("unknown step \(step.step)")
            }
            for item in figure.tree {
                #expect(letters(state[item.name] ?? nil) == step.state[item.name], "\(item.name), step \(step.step)")
            }
        }
    }
}
