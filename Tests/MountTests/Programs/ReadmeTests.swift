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

    @Test func theUpgradeIsTrue() throws {
        let examples = try DocumentExamples("docs/guide/never-down.md").sections.flatMap(\.examples)
        #expect(examples.count >= 5)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }

    @Test func thePresetsAreTrue() throws {
        let examples = try DocumentExamples("docs/guide/presets.md").sections.flatMap(\.examples)
        #expect(examples.count >= 8)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }

    /// From the line of fstab to the restored file and to the colleague who leaves. Its script is the one that stands there.
    @Test(.enabled(if: isInstalled("rsync"), "no rsync")) func theOfficeIsTrue() throws {
        let examples = try DocumentExamples("docs/guide/office.md").sections.flatMap(\.examples)
        #expect(examples.count >= 45)
        let script = try #require(try Self.scripts("docs/guide/office.md").first { $0.contains("rsync ") })
        try DocumentExamples.run(
            examples, mountpoints: ["/srv/office"],
            preparing: """
                mount -t tmpfs tmpfs /var/lib && mkdir /srv/sbin /srv/cron && ln -s /srv/bin/aclfs /srv/sbin/mount.aclfs &&
                mount --bind /srv/sbin /usr/sbin && touch /srv/fstab && mount --bind /srv/fstab /etc/fstab &&
                mount --bind /srv/cron /etc/cron.daily && cat >/etc/cron.daily/office-backup <<'END' && chmod 755 /etc/cron.daily/*
                \(script)
                END
                """)
    }

    @Test(.enabled(if: isInstalled("restic"), "no restic")) func theOtherBackupOfTheOfficeIsTrue() throws {
        let script = try #require(try Self.scripts("docs/guide/office.md").first { $0.contains("restic ") })
        let there = ["/srv", "/etc/aclfs"].reduce(script) { $0.replacingOccurrences(of: "\($1)/", with: "$TOP/") }
        let scratch = try ScratchDirectory("restic")
        let result = try Spawn.run([
            "sh", "-ec",
            """
            export TOP=\(scratch.path) XDG_CACHE_HOME=\(scratch.path)/cache; mkdir -p $TOP/back/office; echo one >$TOP/back/office/file
            echo secret >$TOP/restic-password; restic -q -r $TOP/backups/restic --password-file $TOP/restic-password init
            (\(there))
            rm $TOP/back/office/file
            restic -q -r $TOP/backups/restic --password-file $TOP/restic-password restore latest --target /
            cat $TOP/back/office/file
            """,
        ])
        #expect(result.status == 0 && result.output == "one", "\(result)")
    }

    /// The scripts of a document.
    private static func scripts(_ document: String) throws -> [String] {
        let text = try String(contentsOf: Repository.top.appendingPathComponent(document), encoding: .utf8)
        return text.components(separatedBy: "```sh\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
    }

    /// Commands that make users, and what follows in the life of one, in a copy of /etc.
    @Test(
        arguments: [
            ("docs/guide/tutorial.md", 5, "alice staff\nbob staff\ncarol interns"),
            ("docs/guide/office.md", 9, "alice staff\nbob\ncarol staff"),
        ])
    func theUsersCanBeMade(_ document: String, _ count: Int, _ groups: String) throws {
        let text = try String(contentsOf: Repository.top.appendingPathComponent(document), encoding: .utf8)
        let words = ["groupadd", "useradd", "usermod", "gpasswd"]
        let commands = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { line in words.contains { line.hasPrefix("sudo \($0) ") } }.map { $0.dropFirst("sudo ".count) }
        #expect(commands.count == count)
        let scratch = try ScratchDirectory("users")
        let script = """
            cp -a /etc \(scratch.path)/etc; mount --bind \(scratch.path)/etc /etc; mount -t tmpfs tmpfs /home
            sed -i '/^staff:/d; /^\\(alice\\|bob\\|carol\\|interns\\):/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow
            \(commands.joined(separator: "\n"))
            for user in alice bob carol; do id -nG $user; done
            """
        let result = try Spawn.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", script])
        #expect(result.status == 0 && result.output.hasSuffix(groups), "\(result)")
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
