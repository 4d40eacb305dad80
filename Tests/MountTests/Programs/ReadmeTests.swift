import Foundation
import Glibc
import TestSupport
import Testing

/// The commands of README.md's look at it, one after the other, with the output that stands there.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ReadmeTests {
    private struct Example {
        var command: String
        var output: [String]
    }

    private func examples() throws -> [Example] {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("README.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## A look at it\n").last?.components(separatedBy: "\n## ").first)
        var examples: [Example] = []
        for line in section.split(separator: "\n") where line.hasPrefix("    ") {
            let line = line.dropFirst(4)
            if line.hasPrefix("$ ") {
                let words = line.dropFirst(2).components(separatedBy: "   ")
                examples.append(Example(command: words[0], output: []))
            } else {
                examples[examples.count - 1].output.append(String(line))
            }
        }
        return examples
    }

    /// A time of day becomes one that stands for all; how wide a column is does not count.
    private func comparable(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        guard
            let month = words.firstIndex(where: {
                ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].contains($0)
            })
        else { return words.joined(separator: " ") }
        return (words[..<month] + ["TIME"] + words[(month + 3)...]).joined(separator: " ")
    }

    @Test func theLookAtItIsTrue() throws {
        let users: [String: UInt32] = ["alice": 501, "bob": 502, "carol": 503]
        let accounts = try PrivateAccounts(
            users: users,
            groups: [20: .init(name: "staff", members: ["alice", "bob"]), 30: .init(name: "interns", members: ["carol"])])
        func run(_ user: TestUser, _ command: String) throws -> CommandResult {
            try Spawn.run(accounts.within + user.arguments + ["--", "sh", "-c", command])
        }
        let people = [
            "alice": TestUser(uid: 501, gid: 20, groups: [20]), "bob": TestUser(uid: 502, gid: 20, groups: [20]),
            "carol": TestUser(uid: 503, gid: 30, groups: [30]),
        ]
        // Programs as installed, and a /srv that is nobody else's.
        let prepared = try run(
            .root, "mount -t tmpfs -o mode=755 tmpfs /srv && mkdir /srv/bin && ln -s \(MountTesting.program("aclfs")) /srv/bin/")
        #expect(prepared.status == 0, "\(prepared)")
        defer { _ = try? run(.root, "/srv/bin/aclfs unmount /srv/share; umount -l /srv") }
        var directory = "/"
        let examples = try examples()
        #expect(examples.count >= 10)
        for example in examples {
            var output: [String] = []
            for part in example.command.components(separatedBy: " && ") {
                var words = part.split(separator: " ").map(String.init)
                var user = try #require(people["alice"])
                if words[0] == "sudo" { (user, words) = (.root, Array(words.dropFirst())) }
                if words[0] == "-u" { (user, words) = (try #require(people[words[1]]), Array(words.dropFirst(2))) }
                if words[0] == "cd" {
                    directory = words[1]
                    continue
                }
                let command = words.joined(separator: " ")
                let result = try run(user, "cd \(directory); umask 022; export LC_ALL=C PATH=/srv/bin:$PATH; \(command)")
                output += result.output.split(separator: "\n").map(String.init)
            }
            #expect(output.map(comparable) == example.output.map(comparable), "\(example.command)")
        }
    }

    /// What README says to type is there.
    @Test func theTwoCommandsExist() throws {
        let makefile = try String(contentsOf: Repository.top.appendingPathComponent("Makefile"), encoding: .utf8)
        let text = try String(contentsOf: Repository.top.appendingPathComponent("README.md"), encoding: .utf8)
        for target in ["run", "test", "install"] {
            #expect(text.contains("make \(target)"))
            #expect(makefile.contains("\n\(target):"))
        }
    }
}
