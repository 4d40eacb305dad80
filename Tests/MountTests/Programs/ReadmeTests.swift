import Foundation
import TestSupport
import Testing

/// The commands of README.md and of the documents that teach by examples, with the output that stands there.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ReadmeTests {
    @Test func theLookAtItIsTrue() throws {
        let section = try #require(try DocumentExamples("README.md").sections.first { $0.heading == "A look at it" })
        #expect(section.examples.count >= 10)
        try DocumentExamples.run(section.examples, mountpoints: ["/srv/share"])
    }

    /// One after the other, from the first directory to the end of the mount.
    @Test func theTutorialIsTrue() throws {
        let examples = try DocumentExamples("docs/guide/tutorial.md").sections.flatMap(\.examples)
        #expect(examples.count >= 20)
        try DocumentExamples.run(examples, mountpoints: ["/srv/team"])
    }

    @Test func theAdministrationIsTrue() throws {
        let examples = try DocumentExamples("docs/guide/administration.md").sections.flatMap(\.examples)
        #expect(examples.count >= 14)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }

    @Test func thePresetsAreTrue() throws {
        let examples = try DocumentExamples("docs/guide/presets.md").sections.flatMap(\.examples)
        #expect(examples.count >= 8)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }

    /// Its commands that make users, in a copy of /etc.
    @Test func theUsersOfTheTutorialCanBeMade() throws {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/guide/tutorial.md"), encoding: .utf8)
        let commands = text.split(separator: "\n").filter { $0.hasPrefix("    sudo ") }.map { $0.dropFirst("    sudo ".count) }
        #expect(commands.count == 5)
        let scratch = try ScratchDirectory("users")
        let script = """
            cp -a /etc \(scratch.path)/etc; mount --bind \(scratch.path)/etc /etc; mount -t tmpfs tmpfs /home
            sed -i '/^staff:/d; /^\\(alice\\|bob\\|carol\\|interns\\):/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow
            \(commands.joined(separator: "\n"))
            for user in alice bob carol; do id -nG $user; done
            """
        let result = try Spawn.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", script])
        #expect(result.status == 0 && result.output == "alice staff\nbob staff\ncarol interns", "\(result)")
    }

    /// Each section on a mount of its own, made by the commands of the first one.
    @Test(arguments: ["docs/guide/recipes.md", "docs/guide/troubleshooting.md", "docs/guide/export.md"])
    func eachSectionIsTrue(_ document: String) throws {
        let sections = try DocumentExamples(document).sections.filter { !$0.examples.isEmpty }
        let first = try #require(sections.first)
        #expect(sections.count >= 4)
        for section in sections.dropFirst() {
            try DocumentExamples.run(first.examples + section.examples, mountpoints: ["/srv/share"])
        }
    }

    /// The same documents from the first line to the last, on one mount.
    @Test(arguments: ["docs/guide/recipes.md", "docs/guide/troubleshooting.md", "docs/guide/export.md"])
    func allSectionsInOrderAreTrue(_ document: String) throws {
        try DocumentExamples.run(try DocumentExamples(document).sections.flatMap(\.examples), mountpoints: ["/srv/share"])
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
