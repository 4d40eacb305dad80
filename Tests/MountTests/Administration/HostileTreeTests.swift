import Foundation
import Glibc
import TestSupport
import Testing

/// Commands on trees that other users change meanwhile, and commands that end in the middle (docs/guide/administration.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct HostileTreeTests {
    private let tree: TreeFixture
    init() throws { tree = try TreeFixture() }

    private static let wide = """
        mkdir -p d/{1..30}/x; touch d/{1..30}/{1..10} d/{1..30}/x/{1..3}
        aclfs chmod +a 'user:501 allow read,file_inherit,directory_inherit' d
        """
    /// The objects below `d`.
    private static let count = 30 + 30 + 300 + 90
    private static let mark = "000001F5"

    /// A user swaps directories for symlinks the whole time; nothing outside of the tree is changed.
    @Test(arguments: TreeFixture.Place.allCases, ["propagate", "copy-mode"])
    func noSymlinkLeadsOut(_ place: TreeFixture.Place, _ command: String) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            Self.wide + "\nchown 501:20 d; chmod 750 d; mkdir outside; touch outside/{1..10}; mkdir outside/x; ln -s ../outside link")
        let top = try tree.go(to: place)
        let before = try tree.shell("find outside -printf '%p %m %U %G\\n'; getfattr -Rdm- outside", in: tree.backing).output
        let rounds = MountTesting.isLong ? 60 : 4
        let run = try tree.shell(
            """
            python3 - <<'P' &
            import ctypes, os
            libc = ctypes.CDLL(None)
            os.symlink('../outside', 'd/0')
            while True:
                for number in range(1, 31):
                    libc.renameat2(-100, b'd/0', -100, b'd/%d' % number, 2)
                    libc.renameat2(-100, b'd/0', -100, b'd/%d' % number, 2)
            P
            swapper=$!
            while [ ! -L d/0 ]; do sleep 0.01; done
            for i in $(seq \(rounds)); do aclfs \(command) --workers 3 d >/dev/null 2>&1; aclfs strip -R d >/dev/null 2>&1
                aclfs chmod +a 'user:501 allow read,file_inherit,directory_inherit' d 2>/dev/null; done
            kill $swapper; wait $swapper 2>/dev/null; true
            """, in: top)
        #expect(run.status == 0, "\(run)")
        let after = try tree.shell("find outside -printf '%p %m %U %G\\n'; getfattr -Rdm- outside", in: tree.backing).output
        #expect(after == before)
    }

    /// A name in an undo file that a symlink has now.
    @Test func aRestoreFollowsNoSymlink() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.wide + "\nmkdir outside; touch outside/{1..10}; aclfs propagate --undo-file ../changes.undo d")
        try tree.shell("aclfs chmod +a 'user:501 allow write' outside/1; mv d/7 moved; ln -s ../outside d/7")
        let run = try tree.shell("aclfs restore ../changes.undo", in: tree.fixture.mountpoint)
        #expect(run.status == 1 && run.output.contains("7/1: "), "\(run)")
        #expect(try tree.shell("getfattr --only-values -n system.aclfs.acl outside/1").output.contains("allow write"))
    }

    /// Objects that appear while the command runs have the new entries: they inherit from a directory that has them, or the walk finds them.
    @Test func whatIsCreatedMeanwhileHasTheEntries() throws {
        _ = try tree.go(to: .mount)
        let run = try tree.shell(
            Self.wide + """

                for i in 1 2; do
                    ( n=0; while [ ! -e stop ]; do n=$((n+1)); touch d/$((RANDOM % 30 + 1))/new$i-$n; mkdir -p d/$((RANDOM % 30 + 1))/dir$i-$n/y; done ) &
                done
                sleep 0.3; aclfs propagate --workers 2 d; touch stop; wait; rm stop
                find d -mindepth 1 | sort | tr '\\n' '\\0' | xargs -0 getfattr -h -n system.aclfs.acl 2>&1 | grep -c 'No such attribute'
                """)
        #expect(run.output.hasSuffix("\n0"), "\(run.output.suffix(300))")
    }

    /// The entry that protects a file is there at each moment of a command that replaces it by the same one, and adds others.
    @Test func aReaderNeverFindsAnObjectUnprotected() throws {
        _ = try tree.go(to: .mount)
        let rounds = MountTesting.isLong ? 40 : 4
        let run = try tree.shell(
            """
            mkdir -p d/e; touch d/{1..20} d/e/{1..20}; chmod -R a+rX .
            aclfs chmod +a 'user:502 deny read,file_inherit,directory_inherit' d; aclfs propagate d >/dev/null
            \(TestUser.bob.arguments.map { "'\($0)'" }.joined(separator: " ")) -- bash -c 'while [ ! -e stop ]; do for f in d/[0-9]* d/e/[0-9]*; do
                head -c 1 $f 2>/dev/null && echo "$f was read"; done; done' & reader=$!
            for i in $(seq \(rounds)); do
                aclfs chmod +a "user:$((600 + i)) allow read,file_inherit,directory_inherit" d
                aclfs propagate --workers 2 d >/dev/null; aclfs propagate --undo-file ../$i.undo d/e >/dev/null
                aclfs explicit -R d >/dev/null; aclfs propagate d >/dev/null
                aclfs chmod -a# 1 d; aclfs strip -R --inherited d/e >/dev/null
            done
            touch stop; wait $reader; rm -f ../*.undo
            """)
        #expect(!run.output.contains("was read"), "\(run)")
        #expect(run.status == 0, "\(run)")
    }

    /// Killed at any time, undone or continued.
    @Test(arguments: TreeFixture.Place.allCases)
    func aCommandThatIsKilledIsUndoneOrContinued(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.wide)
        let top = try tree.go(to: place)
        let before = try tree.snapshot()
        let begun = DispatchTime.now()
        #expect(try tree.aclfs("propagate", "--undo-file", tree.undo, "\(top)/d").status == 0)
        let duration = Double(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds) / 1e9
        let after = try tree.snapshot()
        #expect(try tree.aclfs("restore", tree.undo).status == 0)
        #expect(try tree.snapshot() == before)
        for round in 0..<(MountTesting.isLong ? 100 : 8) {
            unlink(tree.undo)
            let delay = String(format: "%.4f", duration * Double.random(in: 0.1...1))
            _ = try Spawn.run(
                tree.within + [
                    "timeout", "-s", "KILL", delay, MountTesting.program("aclfs"), "propagate", "--offline", "--undo-file", tree.undo,
                    "\(top)/d",
                ])
            let isBegun = (try? String(contentsOfFile: tree.undo, encoding: .utf8))?.contains("\n") == true
            guard isBegun else { continue }
            if round % 2 == 0 {
                let resumed = try tree.aclfs("propagate", "--resume", "--undo-file", tree.undo, "\(top)/d")
                #expect(resumed.status == 0, "\(resumed)")
                #expect(try tree.snapshot() == after)
            }
            let restored = try tree.aclfs("restore", tree.undo)
            #expect(restored.status == 0, "killed after \(delay) of \(duration) s: \(restored)")
            #expect(try tree.snapshot() == before, "killed after \(delay) of \(duration) s")
        }
    }

    @Test func anUndoFileForAnotherTreeIsRefused() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.wide + "\nmkdir other; touch other/{1..3}; aclfs propagate --undo-file ../changes.undo d")
        let top = tree.fixture.mountpoint
        for (words, message) in [
            (["restore", tree.undo, "\(top)/other"], "is not the directory of this undo file"),
            (["propagate", "--resume", "--undo-file", tree.undo, "\(top)/other"], "is the undo file of another command or directory"),
            (["strip", "--resume", "--undo-file", tree.undo, "\(top)/d"], "is the undo file of another command or directory"),
            (["restore", tree.undo, "/tmp"], "does not lie on a mount of"),
        ] {
            let run = try tree.aclfs(words)
            #expect(run.status == 2 && run.output.contains(message), "\(words): \(run)")
        }
        // Cut in half, it undoes what it has.
        try tree.shell("head -c $(( $(stat -c %s changes.undo) / 2 )) changes.undo >half; chmod 600 half", in: tree.fixture.top)
        let half = try tree.aclfs("restore", tree.fixture.top + "/half")
        #expect(half.status == 0 && half.output.contains("the last line is incomplete"), "\(half)")
        // A line of it that leads elsewhere.
        try tree.shell(
            "sed 's,\"path\":\"1\",\"path\":\"../other\",' changes.undo >evil; chmod 600 evil; chmod 666 half", in: tree.fixture.top)
        let evil = try tree.aclfs("restore", tree.fixture.top + "/evil")
        #expect(evil.status == 2 && evil.output.contains("does not stay below the directory"), "\(evil)")
        let open = try tree.aclfs("restore", tree.fixture.top + "/half")
        #expect(open.status == 2 && open.output.contains("another user could have written it"), "\(open)")
    }

    /// An object whose states need more than a line of an undo file may have stays as it is, and the rest can be undone.
    @Test func whatAnUndoFileCannotHoldStays() throws {
        let small = tree.fixture.top + "/small"
        let made = try tree.shell(
            """
            mkdir small && mount -t tmpfs none small && cd small && mkdir d && touch d/one d/two && chmod 666 d/* && chown 501:20 d
            python3 - <<'P'
            import os, struct
            entry = lambda tag, bits, number: struct.pack('<HHI', tag, bits, number)
            users = b''.join(entry(2, 6, 1000 + n) for n in range(3500))
            value = struct.pack('<I', 2) + entry(1, 6, 2**32 - 1) + users + entry(4, 6, 2**32 - 1) + entry(16, 6, 2**32 - 1) + entry(32, 6, 2**32 - 1)
            os.setxattr('d/one', 'system.posix_acl_access', value)
            P
            chmod 666 d
            """, in: tree.fixture.top)
        #expect(made.status == 0, "\(made)")
        let run = try tree.aclfs("copy-mode", "--offline", "--undo-file", tree.undo, small + "/d")
        #expect(run.status == 1 && run.output.contains("one: its path and its lists need more than 65536 bytes"), "\(run)")
        #expect(run.output.contains("changed 1 object, left 1 unchanged"), "\(run)")
        let owners = "stat -c %u d/one d/two | tr '\\n' ' '"
        #expect(try tree.shell(owners, in: small).output == "0 501")
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.status == 0 && restored.output == "restored 1 object", "\(restored)")
        #expect(try tree.shell(owners + "; cd .. && umount small", in: small).output == "0 0")
    }

    /// Without room for the undo file nothing goes on; what was changed stands in it.
    @Test func aFullDiskStopsTheCommand() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.wide)
        let before = try tree.snapshot()
        try tree.shell("mkdir -p small && mount -t tmpfs -o size=64k none small", in: tree.fixture.top)
        let run = try tree.shell("aclfs propagate --workers 2 --undo-file ../small/undo d")
        #expect(run.status == 1 && run.output.contains("the undo file cannot be written: No space left on device"), "\(run)")
        #expect(run.output.contains("is complete only up to here"))
        #expect(try tree.snapshot() != before)
        let restored = try tree.shell("aclfs restore ../small/undo; s=$?; umount ../small; exit $s")
        #expect(restored.status == 0, "\(restored)")
        #expect(try tree.snapshot() == before)
    }
}
