import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs explicit`, `strip`, `copy-mode` and `volume` (docs/guide/administration.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct AdministrationTests {
    private let tree: TreeFixture
    init() throws { tree = try TreeFixture() }

    private static let some = """
        mkdir -p d/e; aclfs chmod +a 'user:501 allow read,file_inherit,directory_inherit' d; touch d/1 d/e/2; mkdir d/f; touch d/f/3
        aclfs chmod +a 'user:502 deny write' d/f/3
        """

    @Test(arguments: TreeFixture.Place.allCases)
    func entriesBecomeExplicitAndGo(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some)
        let before = try tree.snapshot()
        let top = try tree.go(to: place)
        #expect(try tree.aclfs("explicit", "\(top)/d").output == "changed 0 objects")
        let explicit = try tree.aclfs("explicit", "-R", "--undo-file", tree.undo, "\(top)/d")
        #expect(explicit.status == 0 && explicit.output == "changed 3 objects", "\(explicit)")
        // Now they stay.
        #expect(try tree.aclfs("strip", "-R", "--inherited", "\(top)/d").output == "changed 0 objects")
        #expect(try tree.aclfs("restore", tree.undo).output == "restored 3 objects")
        #expect(try tree.snapshot() == before)
        unlink(tree.undo)
        #expect(try tree.aclfs("strip", "-R", "--inherited", "--undo-file", tree.undo, "\(top)/d").output == "changed 3 objects")
        _ = try tree.go(to: .mount)
        #expect(try tree.shell("aclfs ls -le d/f/3").output.contains(" 0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 deny write"))
        #expect(try !tree.shell("aclfs ls -le d/f/3").output.contains(" 1: "))
        _ = try tree.go(to: place)
        #expect(try tree.aclfs("restore", tree.undo).output == "restored 3 objects")
        #expect(try tree.snapshot() == before)
        #expect(try tree.aclfs("strip", "\(top)/d/f/3").output == "changed 1 object")
        #expect(try tree.aclfs("strip", "-R", "\(top)/d").output == "changed 3 objects")
        #expect(try tree.shell("find d -print0 | xargs -0 getfattr -hdm- -e hex", in: tree.backing).output == "")
    }

    @Test(arguments: TreeFixture.Place.allCases)
    func ownerGroupAndModeGoDown(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            Self.some + """

                ln -s 1 d/link; mkfifo d/e/pipe; touch d/program; chmod 4755 d/program; mkdir d/sticky; chmod 1777 d/sticky
                aclfs chflags hidden d/f/3; chown 501:600 d; chmod 2750 d
                """)
        let before = try tree.snapshot()
        let top = try tree.go(to: place)
        let dry = try tree.aclfs("copy-mode", "--dry-run", "\(top)/d")
        #expect(dry.output.contains("would change \(top)/d/1 (owner root to 501, group root to 600, mode 0644 to 0750)"), "\(dry)")
        let run = try tree.aclfs("copy-mode", "--undo-file", tree.undo, "\(top)/d")
        #expect(run.status == 0 && run.output == "changed 9 objects", "\(run)")
        let found = try tree.shell("find d -mindepth 1 -printf '%P %m %U:%G\\n' | sort", in: tree.backing).output
        #expect(
            found == """
                1 750 501:600
                e 750 501:600
                e/2 750 501:600
                e/pipe 750 501:600
                f 750 501:600
                f/3 750 501:600
                link 777 501:600
                program 750 501:600
                sticky 1750 501:600
                """, "\(found)")
        // Entries and flags are as before.
        let attributes = "find d -print0 | xargs -0 getfattr -hdm- -e hex"
        let now = try tree.shell(attributes, in: tree.backing).output
        #expect(try tree.aclfs("restore", tree.undo).output.hasSuffix("restored 9 objects, left 1 unchanged"))
        #expect(try tree.aclfs("restore", "--force", tree.undo).output == "restored 1 object")
        #expect(try tree.snapshot() == before)
        #expect(try tree.shell(attributes, in: tree.backing).output == now)
        let kept = try tree.aclfs("copy-mode", "--keep-execute", "\(top)/d")
        #expect(kept.status == 0, "\(kept)")
        #expect(try tree.shell("stat -c '%a %n' d/1 d/program d/e", in: tree.backing).output == "640 d/1\n751 d/program\n750 d/e")
    }

    @Test func aGroupThatOwnsTheDirectoryOwnsAllBelow() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some + "\nsetfattr -n system.aclfs.owner -v ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000258 d")
        let run = try tree.aclfs("copy-mode", "--undo-file", tree.undo, tree.fixture.path("d"))
        #expect(run.status == 0, "\(run)")
        #expect(
            try tree.shell("getfattr --only-values -n system.aclfs.owner d/f/3").output == "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000258")
        #expect(try tree.aclfs("restore", tree.undo).status == 0)
        #expect(try tree.shell("stat -c %u d/f/3").output == "0")
    }

    @Test func aVolumeThatIgnoresOwnershipKeepsItsOwners() throws {
        let tree = try TreeFixture(options: "noowners")
        try tree.shell(Self.some + "\nchown 501 d")
        try tree.shell("chown 501 d", in: tree.backing)
        // The kernel learns of a change behind the mount a moment later.
        try tree.shell("for i in $(seq 200); do [ $(stat -c %u d) = 501 ] && break; sleep 0.05; done")
        let run = try tree.aclfs("copy-mode", tree.fixture.path("d"))
        #expect(run.status == 1 && run.output.contains("owner and group stayed as they were"), "\(run)")
    }

    // MARK: Undo files

    /// In a directory whose entries are inherited, an undo file is for its owner alone, as elsewhere.
    @Test func anUndoFileInheritsNothing() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            """
            mkdir d; touch d/file; chown -R 501:20 d; aclfs chmod +a 'user:502 allow read,write,append,file_inherit,directory_inherit' d
            """)
        let (d, undo) = (tree.fixture.path("d"), tree.fixture.path("d/undo"))
        let alice = TestUser(uid: 501, gid: 20, groups: [20])
        let bob = TestUser(uid: 502, gid: 20, groups: [20])
        let run = try tree.aclfs(as: alice, "propagate", "--undo-file", undo, d)
        #expect(run.status == 0 && run.output == "changed 1 object", "\(run)")
        #expect(try tree.shell("aclfs ls -le d/undo").output.hasPrefix("-rw-------  1"))
        for command in ["cat", "tee -a"] {
            let other = try Spawn.run(tree.within + bob.arguments + ["--", "sh", "-c", "\(command) '\(undo)' </dev/null"])
            #expect(other.status != 0 && other.output.contains("Permission denied"), "\(other)")
        }
        // One that others could have written is not believed.
        try tree.shell("aclfs chmod +a 'user:502 allow write' d/undo")
        let refused = try tree.aclfs(as: alice, "restore", undo)
        #expect(refused.status == 2 && refused.output.contains("closed to others by its mode and entries"), "\(refused)")
        let resumed = try tree.aclfs(as: alice, "propagate", "--resume", "--undo-file", undo, d)
        #expect(resumed.status == 2 && resumed.output.contains("closed to others"), "\(resumed)")
        try tree.shell("aclfs chmod -N d/undo; aclfs chmod +a 'user:502 allow read' d/undo; aclfs chmod +a 'everyone deny write' d/undo")
        #expect(try tree.aclfs(as: alice, "restore", undo).output == "restored 1 object")
    }

    /// A message of a restore has the whole path, as that of the command has.
    @Test func aRestoreNamesWholePaths() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some)
        _ = try tree.aclfs("strip", "-R", "--undo-file", tree.undo, tree.fixture.path("d"))
        try tree.shell("aclfs chmod +a 'user:503 allow read' d d/f/3")
        let run = try tree.aclfs("restore", tree.undo)
        #expect(run.status == 1, "\(run)")
        for name in ["d", "d/f/3"] { #expect(run.output.contains("aclfs: \(tree.fixture.path(name)): it was changed since"), "\(run)") }
    }

    // MARK: Without a mount

    /// Records of root's mounts are invisible to other users, who would find no list, and write where no mount of root reads.
    @Test func anotherUserNamesItsOwnRecords() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some + "\nchown -R 501:20 .; chmod 755 .")
        _ = try tree.go(to: .backing)
        let alice = TestUser(uid: 501, gid: 20, groups: [20])
        chmod(tree.fixture.top + "/private", 0o711)
        let before = try tree.snapshot()
        let d = tree.backing + "/d"
        for words in [
            ["strip", "--offline", "-R", d], ["copy-mode", "--offline", d], ["preset", "apply", "--offline", "public", d],
            ["volume", tree.backing, "noacl"],
        ] {
            let run = try Spawn.run(
                tree.within + alice.arguments + ["--", "env", "HOME=\(tree.fixture.top)", MountTesting.program("aclfs")] + words)
            #expect(
                run.status == 2 && run.output.contains("--metadata user works on what your own mounts stored"), "\(words): \(run)")
        }
        #expect(try tree.snapshot() == before)
        let own = try tree.aclfs(as: alice, "strip", "-R", "--metadata", "user", d)
        #expect(own.status == 0 && own.output == "changed 0 objects", "\(own)")
    }

    /// A mount point on which nothing is mounted looks like the share, and nothing that a command does there is enforced.
    @Test func whatIsNotMountedIsLeftAlone() throws {
        let exported = tree.fixture.top + "/lists"
        _ = try tree.go(to: .mount)
        try tree.shell("mkdir d; touch d/f; aclfs acl export d >'\(exported)'")
        _ = try tree.go(to: .backing)
        let bare = tree.fixture.mountpoint
        mkdir(bare + "/d", 0o755)
        close(open(bare + "/d/f", O_CREAT | O_RDWR, 0o644))
        func run(_ words: [String]) throws -> CommandResult { try Spawn.run(tree.within + [MountTesting.program("aclfs")] + words) }
        let commands: [([String], [String])] = [
            (["propagate"], ["d"]), (["inherit"], ["d/f"]), (["explicit"], ["-R", "d"]), (["strip"], ["-R", "d"]), (["copy-mode"], ["d"]),
            (["preset", "apply"], ["--dry-run", "public", "d"]), (["preset", "show"], ["public", "d"]), (["report"], ["--json", "d"]),
            (["acl", "export"], ["d"]), (["acl", "diff"], ["d", "d"]), (["acl", "import"], [exported, "d"]),
            (["acl", "copy"], ["d", "d"]), (["acl", "remap"], ["user:#501", "user:#502", "d"]),
        ]
        for (command, operands) in commands {
            let paths = operands.map { $0.hasPrefix("d") ? bare + "/" + $0 : $0 }
            let refused = try run(command + paths)
            #expect(refused.status == 2, "\(command): \(refused)")
            #expect(refused.output.contains("not mounted: nothing enforces this; "), "\(command): \(refused)")
            let told = try run(command + ["--offline"] + paths)
            #expect(told.status == 0, "\(command): \(told)")
        }
        // The kernel enforces modes there. Entries it does not.
        let mode = try run(["chmod", "-R", "u+w", bare + "/d"])
        #expect(
            mode.status == 0 && mode.output == "aclfs: chmod: note: \(bare)/d is not on an aclfs mount: only the kernel enforces its mode",
            "\(mode)")
        #expect(try run(["chmod", "--offline", "644", bare + "/d/f"]).output == "")
        let entries = try run(["chmod", "--offline", "+a", "everyone deny read", bare + "/d"])
        #expect(entries.status == 1 && entries.output.contains("--offline is for modes"), "\(entries)")
        // What is asked about no directory is no question of mounts.
        #expect(try run(["preset", "show", "public"]).status == 0)
    }

    @Test func aMountInAnotherNamespaceIsNamedSo() throws {
        _ = try tree.go(to: .mount)
        try tree.shell("mkdir d")
        let run = try tree.shell(
            """
            cd /; unshare -m --propagation private sleep 60 >/dev/null 2>&1 & other=$!
            until [ "$(readlink /proc/$other/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.05; done
            umount '\(tree.fixture.mountpoint)'; aclfs strip --offline -R '\(tree.backing)/d' 2>&1; status=$?; kill $other; wait; exit $status
            """)
        #expect(run.status == 2 && run.output.contains("in another mount namespace, such as a container; unmount it there"), "\(run)")
    }

    // MARK: Settings of a volume

    @Test func settingsCountForEachMount() throws {
        func options() throws -> String { try tree.aclfs("status", tree.fixture.mountpoint).output }
        let set = try tree.aclfs("volume", tree.backing, "noacl", "noowners")
        #expect(set.output.hasPrefix("acl: noacl\nowners: noowners\n"), "\(set)")
        #expect(set.output.components(separatedBy: "aclfs: volume: warning: ").count == 3, "each is warned of: \(set)")
        try tree.fixture.mount()
        #expect(try options().contains(",noowners,noacl,"))
        // They are no object's, and stay when the record changes.
        #expect(try tree.shell("aclfs chflags hidden .").status == 0)
        let served = try tree.aclfs("volume", tree.backing, "acl")
        #expect(served.status == 2 && served.output.contains("it is mounted at \(tree.fixture.mountpoint); unmount it first"), "\(served)")
        let around = try tree.aclfs("strip", "--offline", "-R", tree.fixture.top + "/private")
        let inIt = ": \(tree.backing) in it is mounted at \(tree.fixture.mountpoint);"
        #expect(around.status == 2 && around.output.contains(inIt), "\(around)")
        try tree.fixture.unmount()
        try tree.fixture.mount("acl,owners")
        #expect(try options().contains(",owners,acl,"))
        try tree.fixture.unmount()
        let suid = try Spawn.run(
            tree.within + [MountTesting.program("aclfs"), "mount", "-o", "suid", tree.backing, tree.fixture.mountpoint])
        #expect(suid.status == 32 && suid.output.contains("'noowners' is a setting of the volume"), "\(suid)")
        #expect(try tree.aclfs("volume", "--json", tree.backing).output.hasSuffix(#""acl":"noacl","owners":"noowners"}"#))
        #expect(try tree.aclfs("volume", "--reset", tree.backing, "acl").output.hasPrefix("acl: acl\nowners: as the mount says"))
        try tree.fixture.mount()
        #expect(try options().contains(",owners,acl,"))
    }

    @Test func wrongSettingsChangeNothing() throws {
        for (words, message) in [
            (["acl", "noacl"], "'acl' and 'noacl' contradict each other"), (["suid"], "'suid' is not a setting"),
        ] {
            let run = try tree.aclfs(["volume", tree.backing] + words)
            #expect(run.status == 2 && run.output.contains(message), "\(run)")
        }
        #expect(try tree.shell("getfattr -hdm- .", in: tree.backing).output == "")
        #expect(try tree.aclfs("volume", tree.backing + "/missing").status == 2)
    }
}
