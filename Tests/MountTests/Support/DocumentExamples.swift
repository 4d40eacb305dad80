import Foundation
import TestSupport
import Testing

/// The commands of a document, one after the other, with the output that stands there. A command is an indented line that begins with `$ `,
/// as alice would type it; three blanks begin its comment.
struct DocumentExamples {
    struct Example {
        var command: String
        var output: [String]
    }

    private static let people = [
        "alice": TestUser(uid: 501, gid: 20, groups: [20]), "bob": TestUser(uid: 502, gid: 20, groups: [20]),
        "carol": TestUser(uid: 503, gid: 30, groups: [30]),
    ]
    /// The headings of the document, each with the examples below it.
    let sections: [(heading: String, examples: [Example])]

    init(_ document: String) throws {
        let text = try String(contentsOf: Repository.top.appendingPathComponent(document), encoding: .utf8)
        sections = text.components(separatedBy: "\n## ").map { section in
            let lines = section.components(separatedBy: "\n")
            return (lines[0], Self.examples(in: lines.dropFirst()))
        }
    }

    private static func examples(in lines: ArraySlice<String>) -> [Example] {
        var examples: [Example] = []
        for line in lines where line.hasPrefix("    ") {
            let line = line.dropFirst(4)
            if line.hasPrefix("$ ") {
                examples.append(Example(command: line.dropFirst(2).components(separatedBy: "   ")[0], output: []))
            } else if !examples.isEmpty {
                examples[examples.count - 1].output.append(String(line))
            }
        }
        return examples
    }

    /// A time of day becomes one that stands for all; how wide a column is does not count.
    private static func comparable(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let month = words.firstIndex(where: { months.contains($0) }), month + 3 <= words.count else {
            return words.joined(separator: " ")
        }
        return (words[..<month] + ["TIME"] + words[(month + 3)...]).joined(separator: " ")
    }

    /// Runs examples in a mount namespace with a /srv that is nobody else's, where alice and bob are of the group staff and carol is an intern.
    /// - Parameters:
    ///   - mountpoints: what they mount.
    ///   - preparing: what root does before, in a shell.
    static func run(_ examples: [Example], mountpoints: [String], preparing: String = "true") throws {
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503],
            groups: [20: .init(name: "staff", members: ["alice", "bob"]), 30: .init(name: "interns", members: ["carol"])])
        func run(_ user: TestUser, _ command: String) throws -> CommandResult {
            try Spawn.run(accounts.within + user.arguments + ["--", "sh", "-c", command])
        }
        // doctor looks at all mounts that it sees, and those of other tests may be dead. Their daemons may stand still, and are not asked.
        let hidden = """
            awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | while read -r m; do umount -lc "$(printf "$m")" 2>/dev/null; done; true
            """
        let profiles = Repository.top.appendingPathComponent("mount-helpers/sandbox").path
        let prepared = try run(
            .root,
            """
            mount --make-rprivate / && { \(hidden); } && mkdir -p /run/aclfs && mount -t tmpfs -o mode=755 none /run/aclfs &&
            mount -t tmpfs -o mode=755 tmpfs /srv && mkdir /srv/bin && ln -s \(MountTesting.program("aclfs")) /srv/bin/ &&
            mount -t tmpfs tmpfs /usr/local/share && mkdir /usr/local/share/aclfs && ln -s '\(profiles)' /usr/local/share/aclfs/sandbox
            """)
        // Nothing of what follows may reach the /srv of everybody. (One mount may have gone with another.)
        try #require(prepared.status == 0, "\(prepared)")
        let more = try run(.root, preparing)
        #expect(more.status == 0, "\(more)")
        defer {
            for place in mountpoints { _ = try? run(.root, "/srv/bin/aclfs unmount \(place)") }
            _ = try? run(.root, "umount -l /srv")
        }
        var directory = "/"
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
                let result = try run(user, "cd \(directory) 2>/dev/null; umask 022; export LC_ALL=C PATH=/srv/bin:$PATH; \(command)")
                output += result.output.split(separator: "\n").map(String.init)
            }
            #expect(output.map(comparable) == example.output.map(comparable), "\(example.command)")
        }
    }
}
