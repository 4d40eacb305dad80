import Foundation
import TestSupport
import Testing

/// The commands of docs/reference/posix-acl.md's look at it, one after the other as alice, with the output that stands there.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PosixDocumentTests {
    @Test func theLookAtItIsTrue() throws {
        let section = try #require(try DocumentExamples("docs/reference/posix-acl.md").sections.first { $0.heading == "A look at it" })
        #expect(section.examples.count >= 12)
        try DocumentExamples.run(section.examples, mountpoints: ["/srv/share"])
    }

    /// Those of its section on imports, as root in a directory with one list.
    @Test func theImportIsTrue() throws {
        let examples = try examples(of: "Import", prompt: "# ")
        #expect(examples.count == 3)
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502], groups: [20: .init(name: "staff", members: ["alice", "bob"])])
        let fixture = try MountFixture(options: nil)
        let prepared = try Spawn.run([
            "bash", "-c", "cd '\(fixture.backing)' && umask 027 && touch plans && chown 501:20 plans && setfacl -m u:502:rw plans",
        ])
        #expect(prepared.status == 0, "\(prepared)")
        let programs = (MountTesting.program("aclfs") as NSString).deletingLastPathComponent
        for example in examples {
            let command = example.command.replacingOccurrences(of: "/srv/back/share", with: fixture.backing)
            let result = try Spawn.run(accounts.within + ["sh", "-c", "cd '\(fixture.top)'; export PATH=\(programs):$PATH; \(command)"])
            // A daemon of another test may hang.
            let lines = result.output.split(separator: "\n").filter { !$0.hasPrefix("aclfs: warning:") }.map { comparable(String($0)) }
            #expect(
                result.status == 0 && lines == example.output.map(comparable),
                "\(result)")
        }
    }

    private func examples(of heading: String, prompt: String) throws -> [(command: String, output: [String])] {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/reference/posix-acl.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## \(heading)\n").last?.components(separatedBy: "\n## ").first)
        var examples: [(command: String, output: [String])] = []
        for line in section.split(separator: "\n") where line.hasPrefix("    ") {
            let line = String(line.dropFirst(4))
            if line.hasPrefix(prompt) {
                examples.append((String(line.dropFirst(prompt.count)), []))
            } else {
                examples[examples.count - 1].output.append(line)
            }
        }
        return examples
    }

    /// A date becomes one that stands for all; how wide a column is does not count.
    private func comparable(_ line: String) -> String {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let month = words.firstIndex(where: months.contains), month + 3 <= words.count else { return words.joined(separator: " ") }
        return (words[..<month] + ["TIME"] + words[(month + 3)...]).joined(separator: " ")
    }
}
