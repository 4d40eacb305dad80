import Foundation
import TestSupport
import Testing

/// What a refused command of aclfs says: the entry, flag or stage that decides, and to nobody more than `aclfs explain` tells.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RefusalMessageTests {
    let fixture: MountFixture
    let program = MountTesting.program("aclfs")

    init() throws {
        fixture = try MountFixture()
        let script = """
            cd \(fixture.mountpoint); chmod 1777 .; echo text >plain; cp plain denied; cp plain flagged; cp plain hidden; mkdir -p closed/in open
            echo text >closed/in/f; echo text >open/f; echo text >appended; chown -R 501:20 .; chmod 700 closed
            '\(program)' chmod -E denied <<'END'
            user:502 deny writesecurity,readattr
            user:503 allow writesecurity
            END
            '\(program)' chmod -E hidden <<'END'
            user:503 deny read
            user:502 allow writesecurity
            END
            '\(program)' chflags uchg flagged; '\(program)' chflags uappnd appended; '\(program)' chmod +a 'user:502 deny readsecurity' hidden
            """
        let prepared = try Spawn.run(["bash", "-uec", script])
        guard prepared.status == 0, prepared.output.isEmpty else { throw FixtureError("\(prepared)") }
    }

    private func said(_ user: TestUser, _ command: String) throws -> String {
        let result = try user.shell("cd \(fixture.mountpoint); \(program) \(command)")
        #expect(result.status != 0, "\(command): \(result)")
        return result.output
    }

    @Test func theEntryIsNamed() throws {
        let entry = "by the entry 'FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 deny readattr,writesecurity' (acl:object[0])"
        #expect(try said(.bob, "ls -l denied").hasSuffix("Permission denied: readattr,readsecurity is denied \(entry)"))
        #expect(try said(.bob, "explain stat denied").contains("acl:object[0]"))
    }

    @Test func theFlagIsNamed() throws {
        #expect(
            try said(.alice, "chmod 600 flagged")
                == "aclfs: flagged: Operation not permitted: writesecurity is denied by the flag uchg (flags:object)")
        #expect(
            try said(.root, "chmod +a 'user:502 allow read' flagged appended")
                == """
                aclfs: flagged: Operation not permitted: writesecurity is denied by the flag uchg (flags:object)
                aclfs: appended: Operation not permitted: writesecurity is denied by the flag uappnd (flags:object)
                """)
    }

    /// Options of the mount by which root is refused as well.
    @Test func theOptionIsNamed() throws {
        let made = try TestUser.root.shell("cd \(fixture.mountpoint); touch fixed; \(program) chflags schg fixed; chmod 600 fixed")
        #expect(made.output.contains("chmod"), "\(made)")
        let raised = try TestUser.root.shell("\(program) mount -o remount,securelevel=1 \(fixture.backing) \(fixture.mountpoint)")
        try #require(raised.status == 0, "\(raised)")
        let note = "securelevel=1: no flag of an object with schg or sappnd changes while this is mounted"
        let refused = "aclfs: fixed: Operation not permitted: writesecurity is denied by the flag schg (flags:object)"
        for flags in ["noschg", "hidden"] { #expect(try said(.root, "chflags \(flags) fixed") == "\(refused); \(note)") }
        #expect(try said(.root, "chmod 644 fixed") == refused)
        #expect(try said(.root, "explain chflags fixed").contains("note: \(note)"))
    }

    @Test func theStageIsNamed() throws {
        let none = "writesecurity is denied: no entry grants it, and no mode bit stands for it (no_bsd_equivalent)"
        #expect(try said(.bob, "chmod 600 plain") == "aclfs: plain: Operation not permitted: \(none)")
        #expect(try said(.bob, "chmod -R +a 'user:502 allow read' open").split(separator: "\n").count == 2)
        #expect(try said(.bob, "chflags hidden plain") == "aclfs: plain: Permission denied: \(none)")
        #expect(
            try said(.bob, "backup exclude plain")
                == "aclfs: plain: Permission denied: writeextattr is denied: no entry decides it, and the mode does not grant it "
                + "(posix:group:object)")
        // -f stays silent.
        let quiet = try TestUser.bob.shell("cd \(fixture.mountpoint); \(program) chmod -f 600 plain")
        #expect(quiet.status == 0 && quiet.output.isEmpty, "\(quiet)")
    }

    @Test func theClosedDirectoryIsNamed() throws {
        let mode =
            "search is denied on \(fixture.mountpoint)/closed: no entry decides it, and the mode does not grant it (posix:group:object)"
        for name in ["closed/in/f", "closed/in/none", "closed/none"] {
            #expect(try said(.bob, "chmod 600 \(name)") == "aclfs: \(name): Permission denied: \(mode)")
        }
        #expect(try said(.bob, "ls closed").hasPrefix("aclfs: closed: Permission denied: list is denied: no entry decides it"))
    }

    /// `explain` asks about no values, so it does not have this rule.
    @Test func flagsOfRootAreNamed() throws {
        for (flags, words) in [("schg", "schg"), ("schg,uchg,sunlnk", "schg,sunlnk"), ("arch", "arch")] {
            #expect(
                try said(.alice, "chflags \(flags) plain")
                    == "aclfs: plain: Operation not permitted: only a caller with CAP_LINUX_IMMUTABLE (root outside of containers) "
                    + "can set and clear \(words)")
        }
    }

    /// The way out for an owner who has shut itself out of reading.
    @Test func theOwnerRemovesAListThatDeniesReading() throws {
        let script = """
            cd \(fixture.mountpoint); \(program) chmod +a 'everyone deny readattr' plain; \(program) chmod +a 'user:501 allow read' plain
            stat plain; \(program) chmod -N plain && stat -c %a plain
            """
        let result = try TestUser.alice.shell(script)
        #expect(result.status == 0 && result.output.hasSuffix("\n644"), "\(result)")
        #expect(result.output.contains("readattr,readsecurity is denied by the entry"), "\(result)")
        // Nobody else can.
        #expect(try TestUser.alice.shell("cd \(fixture.mountpoint); \(program) chmod +a 'everyone deny readattr' plain").status == 0)
        #expect(try said(.bob, "chmod -N plain").contains("writesecurity is denied"))
    }

    /// The rule is of the link's target, which is what was changed.
    @Test func theTargetOfALink() throws {
        #expect(try Spawn.run(["ln", "-s", "\(fixture.mountpoint)/flagged", "\(fixture.top)/link"]).status == 0)
        let result = try TestUser.alice.shell("\(program) chmod 600 \(fixture.top)/link")
        #expect(result.output.hasSuffix("Operation not permitted: writesecurity is denied by the flag uchg (flags:object)"), "\(result)")
    }

    /// Only the deciding entry, as `explain` has it: not the list, which bob may not read.
    @Test func nothingElseIsTold() throws {
        let message = try said(.bob, "chmod +a 'user:502 allow read' hidden")
        #expect(!message.contains("1F7"), "\(message)")
    }

    @Test func withoutADaemonTheErrnoIsEnough() throws {
        #expect(
            try TestUser.bob.shell("\(program) chmod --offline 600 /etc/passwd").output == "aclfs: /etc/passwd: Operation not permitted")
    }

    /// An object elsewhere does not end the questions.
    @Test func afterAnObjectElsewhereTheMountIsStillAsked() throws {
        let lines = try said(.bob, "chmod --offline 600 /etc/passwd plain").split(separator: "\n")
        #expect(lines.first == "aclfs: /etc/passwd: Operation not permitted")
        #expect(lines.last?.hasSuffix("(no_bsd_equivalent)") == true, "\(lines)")
    }

    /// A walk asks about a hundred objects and prints the errno of the others.
    @Test func aLongWalkDoesNotAskForever() throws {
        let made = try Spawn.run(["bash", "-uc", "cd \(fixture.mountpoint)/open; for i in $(seq 150); do :>$i; done"])
        #expect(made.status == 0)
        let lines = try said(.bob, "chmod -R 600 open").split(separator: "\n")
        #expect(lines.count == 152)
        #expect(lines.filter { $0.contains("no_bsd_equivalent") }.count == 100)
    }
}
