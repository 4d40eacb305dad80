import ACLFormats
import Authorization

/// The vectors as cases.
enum VectorCases {
    /// - Parameter numbers: of the run.
    /// - Returns: a case for each vector, in their order.
    static func all(_ numbers: Numbers) -> [ConformanceCase] { StatedVectors.all.map { made($0, numbers) } }

    private static func made(_ stated: Vector, _ numbers: Numbers) -> ConformanceCase {
        let number = Int(stated.id.dropFirst()) ?? 0
        var made = ConformanceCase(
            rules: Rule.all.filter { $0.vectors.contains(number) }.map(\.number), vector: stated.id, title: stated.title)
        do {
            try fill(&made, stated.renumbered(numbers))
        } catch {
            made.skipped = "cannot be expressed: \(error)"
        }
        return made
    }

    private static func fill(_ made: inout ConformanceCase, _ vector: Vector) throws {
        let expectation = try LinuxExpectation(vector, [:])
        guard let word = expectation.word else {
            made.skipped = "no system call of Linux expresses it: \(expectation.reason ?? "")"
            return
        }
        if vector.volume.readOnly {
            made.skipped = "needs a mount with ro, on which a run can build nothing"
            return
        }
        // The directory of the case is made before.
        let world = VectorWorld(vector: vector, path: ".")
        made.setup = try world.steps().dropFirst().map { Step(.root, $0) }
        let call = try VectorCall(world)
        made.steps = call.calls.map { Step(vector.subject, $0, .word(word, orErrno: word == "ok" ? call.permittedErrno : nil)) }
        if word == "ok", let effects = expectation.effects {
            made.steps += effects.steps(VectorCall.affected(world), isSymlink: vector.op.call == "symlink")
        }
    }
}

extension VectorEffects {
    /// The calls of root that see the state after success.
    func steps(_ path: String, isSymlink: Bool) -> [Step] {
        var steps = [
            Step(.root, ["stat", path], .attributes(owner: owner, group: group, mode: isSymlink ? nil : mode?.value))
        ]
        if let flags {
            let expected = Expected.value("flags \(flags.joined(separator: ","))") { value in
                (try? FileFlagsText.parseAttribute(value)) == (try? FileFlags(vectorWords: flags))
            }
            steps.append(Step(.root, ["getxattr", path, "system.aclfs.flags"], expected))
        }
        switch acl {
        case nil: break
        // Where lists do not exist, there is none either.
        case .absent: steps.append(Step(.root, ["getxattr", path, "system.aclfs.acl"], .word("ENODATA", orErrno: "EOPNOTSUPP")))
        case .present(let entries):
            let text = (try? VectorWorld.text(entries)) ?? "?"
            steps.append(Step(.root, ["getxattr", path, "system.aclfs.acl"], .list(text)))
        }
        return steps
    }
}
