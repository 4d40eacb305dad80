import Foundation
import Glibc
import TestSupport
import Testing

/// No command makes a program that another user could have written run as its owner (docs/reference/security.md "Commands on trees").
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct SetIDCommandTests {
    private let tree: TreeFixture
    init() throws {
        tree = try TreeFixture()
        chmod(tree.fixture.top + "/private", 0o711)
    }

    private func shell(as user: TestUser, _ script: String, in directory: String) throws -> CommandResult {
        try Spawn.run(tree.within + user.arguments + ["--", "bash", "-uc", "cd '\(directory)' || exit 9\n" + script])
    }

    /// A user becomes the owner of root's program, rewrites it and gives it the bit that the old one had.
    @Test(arguments: TreeFixture.Place.allCases)
    func aRestoreGivesNoProgramThatItsOwnerRewrote(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            "mkdir -m 755 d; chmod 755 .; echo good >d/tool; echo good >d/group; chmod 4755 d/tool; chmod 2755 d/group; chown 501:20 d")
        let top = try tree.go(to: place)
        #expect(try tree.aclfs("copy-mode", "--undo-file", tree.undo, "\(top)/d").status == 0)
        let rewritten = try shell(
            as: .alice, "echo evil >tool && echo evil >group && chmod 4755 tool && chmod 2755 group && stat -c %a tool group",
            in: "\(top)/d")
        #expect(rewritten.output == "4755\n2755", "\(rewritten)")
        let run = try tree.aclfs("restore", tree.undo)
        #expect(run.status == 1 && run.output.contains("tool: its set-id bits are not restored"), "\(run)")
        #expect(run.output.contains("group: its set-id bits are not restored"), "\(run)")
        #expect(try tree.shell("stat -c '%u %g %a' d/tool d/group", in: top).output == "0 0 755\n0 0 755")
    }

    /// `--force` gives them, and not while a former owner can still write the file through what he opened.
    @Test(arguments: TreeFixture.Place.allCases)
    func aForcedRestoreGivesNoProgramThatIsOpenForWriting(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell("mkdir -m 755 d; chmod 755 .; echo good >d/tool; chmod 4755 d/tool; chown 501:20 d")
        let top = try tree.go(to: place)
        #expect(try tree.aclfs("copy-mode", "--undo-file", tree.undo, "\(top)/d").status == 0)
        let run = try tree.shell(
            """
            "\(TestUser.alice.arguments[0])" 501 20 - -- python3 -c 'import time; f = open("d/tool", "r+"); print("open", flush=True); time.sleep(60)' \
                >opened & holder=$!
            for i in $(seq 200); do [ -s opened ] && break; sleep 0.02; done
            aclfs restore --force '\(tree.undo)'; echo "status $?"; stat -c '%u %a' d/tool; kill $holder; wait $holder 2>/dev/null
            aclfs restore --force '\(tree.undo)'; stat -c '%u %a' d/tool
            """, in: top)
        #expect(run.output.contains("tool: its set-id bits are not restored: a process has it open for writing"), "\(run)")
        #expect(run.output.contains("status 1\n0 755\n"), "\(run)")
        #expect(run.output.hasSuffix("0 4755"), "\(run)")
    }

    /// Their owner makes files immutable while `copy-mode` gives them to root, so that its last call and the way back fail.
    @Test(arguments: ["uchg", "rewriting"])
    func aCopyModeThatFailsGivesNoProgramToRoot(_ attack: String) throws {
        let top = try tree.go(to: .mount)
        let rounds = MountTesting.isLong ? 60 : 2
        let run = try tree.shell(
            """
            chmod 755 .; mkdir -m 755 d
            cat >../attack.py <<'P'
            import os, sys
            names = ['d/%d' % n for n in range(20)]
            while not os.path.exists('stop'):
                for name in names:
                    for value in (b'uchg', b''):
                        try: os.setxattr(name, 'system.aclfs.flags', value)
                        except OSError: pass
                    if sys.argv[1] == 'rewriting':
                        try:
                            with open(name, 'r+') as f: f.write('evil')
                            os.chmod(name, 0o4711)
                        except OSError: pass
            P
            chmod 711 ..; chmod 644 ../attack.py
            for round in $(seq \(rounds)); do
                rm -f stop; for n in $(seq 0 19); do echo theirs >d/$n; chown 501:20 d/$n; chmod 4711 d/$n
                    aclfs chmod +a 'user:501 allow writesecurity,write' d/$n; done
                "\(TestUser.alice.arguments[0])" 501 20 - -- python3 ../attack.py \(attack) & attacker=$!
                for i in 1 2 3; do aclfs copy-mode --workers 1 d >/dev/null 2>&1; done
                touch stop; wait $attacker
                find d -type f -uid 0 -perm /6000
                aclfs chflags 0 d/*; rm -f d/*
            done; echo done
            """, in: top)
        #expect(run.output == "done", "\(run)")
    }

    /// Where it is known that nobody writes it, a program keeps what it has; where that cannot be known, it is named.
    @Test(arguments: TreeFixture.Place.allCases)
    func aProgramKeepsItsBitsWhereNobodyCanWriteIt(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell("mkdir -m 755 d; for f in tool held; do echo good >d/$f; chmod 4711 d/$f; done; mkdir d/e; chmod 2700 d/e")
        let top = try tree.go(to: place)
        let run = try tree.shell("exec 9<>d/held; aclfs copy-mode --undo-file '\(tree.undo)' d; echo $?", in: top)
        let (keeps, lost) = ("stat -c %a d/tool d/held d/e | tr '\\n' ' '", "its set-id bits are left out: others could have written it")
        switch place {
        case .backing:
            #expect(!run.output.contains("tool") && run.output.contains("held: \(lost)"), "\(run)")
            #expect(try tree.shell(keeps, in: top).output == "4755 755 2755")
        case .mount:
            // Another mount of the tree may write it.
            #expect(run.output.contains("tool: \(lost)") && run.output.contains("held: \(lost)"), "\(run)")
            #expect(try tree.shell(keeps, in: top).output == "755 755 2755")
        }
        #expect(run.output.hasSuffix("\n1"), "\(run)")
    }

    @Test(arguments: TreeFixture.Place.allCases)
    func chmodWritesNoBitThatItHasOnlyRead(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell("chmod 755 .; echo good >tool; chown 0:20 tool; chmod 4775 tool; mkdir dir; chmod 2770 dir")
        let top = try tree.go(to: place)
        let run = try tree.shell(
            """
            aclfs chmod o-x tool dir; stat -c %a tool dir
            exec 9<>tool; aclfs chmod o+x tool; echo "status $?"; stat -c %a tool
            aclfs chmod 4755 tool && aclfs chmod u+s,g+s,o-x tool && stat -c %a tool
            exec 9<&-; aclfs chmod -v g-s,u-w tool; stat -c %a tool
            """, in: top)
        let lost = "aclfs: tool: its set-id bits are left out: others could have written it meanwhile; u+s and g+s set them"
        #expect(run.output == "4774\n2770\n\(lost)\nstatus 1\n775\n6754\ntool\n4554", "\(run)")
    }

    /// A member of the group writes while root changes other bits of the mode: whoever has written it has no program of root's.
    @Test(arguments: TreeFixture.Place.allCases, ["chmod", "copy-mode"])
    func aWriteDuringAChangeOfTheModeEndsTheBit(_ place: TreeFixture.Place, _ command: String) throws {
        _ = try tree.go(to: .mount)
        try tree.shell("chmod 755 .; mkdir -m 755 d; chown 0:20 d")
        let top = try tree.go(to: place)
        let rounds = MountTesting.isLong ? 2000 : 8
        let run = try tree.shell(
            """
            cat >'\(tree.fixture.top)/attack.py' <<'P'
            import os
            while not os.path.exists('stop'):
                try:
                    with open('d/tool', 'r+') as f: f.write('evil')
                except OSError: pass
            P
            chmod 711 '\(tree.fixture.top)'; chmod 644 '\(tree.fixture.top)/attack.py'
            "\(TestUser.alice.arguments[0])" 501 20 - -- python3 '\(tree.fixture.top)/attack.py' & attacker=$!
            for round in $(seq \(rounds)); do
                rm -f d/new; echo good >d/new; chown 0:20 d/new; chmod 4775 d/new; chmod 775 d; mv d/new d/tool
                case \(command) in
                    chmod) aclfs chmod o-x d/tool 2>/dev/null; aclfs chmod o+x d/tool 2>/dev/null ;;
                    *) chmod 771 d; aclfs copy-mode d >/dev/null 2>&1; chmod 775 d; aclfs copy-mode d >/dev/null 2>&1 ;;
                esac
                # Only what was written before the last look counts.
                had=$(stat -c %a d/tool); [ "$(cat d/tool)" = good ] || case $(stat -c %a d/tool) in 4*) echo "a program of root's: $had" ;; esac
            done
            touch stop; wait $attacker; rm stop; echo done
            """, in: top)
        #expect(run.output == "done", "\(run)")
    }
}
