import Foundation
import Glibc
import TestSupport
import Testing

/// Users who write to a tree and try to make root's commands act elsewhere, or with files that they wrote (docs/reference/security.md "Commands on trees").
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct MisleadingTreeTests {
    private let tree: TreeFixture
    init() throws { tree = try TreeFixture() }

    // MARK: Links

    /// The only name in the tree of a file outside is moved from a directory that the walk has left to one that is still to come. The walk waits
    /// meanwhile, because nobody reads its output.
    @Test(arguments: TreeFixture.Place.allCases, ["file", "directory"])
    func aNameThatIsMovedOnIsOneName(_ place: TreeFixture.Place, _ moved: String) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            "mkdir -p d/{1..4}/s outside; touch d/{1..4}/{1..160}$(printf '%0200d' 0); echo x >outside/victim; chmod 600 outside/victim")
        let top = try tree.go(to: place)
        try tree.shell("chown -R 501:20 d; chmod 755 d", in: top)
        let run = try tree.shell(
            """
            python3 - '\(MountTesting.program("aclfs"))' \(moved) <<'P'
            import array, fcntl, os, subprocess, sys, termios, time
            order = [entry.name for entry in os.scandir('d')]
            first, last = 'd/' + order[0], 'd/' + order[-1]
            place = '/link' if sys.argv[2] == 'file' else '/s/link'
            os.link('outside/victim', first + place)
            time.sleep(0.05)
            run = subprocess.Popen([sys.argv[1], 'copy-mode', '--offline', '-v', 'd'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            waiting, before = array.array('i', [0]), -1
            while waiting[0] != before or before < 60000:
                before = waiting[0]; time.sleep(0.2); fcntl.ioctl(run.stdout, termios.FIONREAD, waiting)
            if sys.argv[2] == 'file': os.rename(first + place, last + place)
            else: os.rename(first + '/s', last + '/t')
            print([line for line in run.communicate()[0].decode().splitlines() if 'link' in line or 'left' in line])
            P
            stat -c '%u %a' outside/victim
            """, in: top)
        #expect(run.output.hasSuffix("\n0 600"), "\(run)")
        #expect(run.output.contains("has 2 hard links, 1 of them below the directory"), "\(run)")
    }

    /// Both names are below, and it gets the change although it was linked just now.
    @Test(arguments: TreeFixture.Place.allCases)
    func allNamesOfAFileCount(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell("mkdir -p d/e; chown 501:20 d; touch d/one")
        let top = try tree.go(to: place)
        let run = try tree.shell(
            "ln d/one d/e/two; aclfs copy-mode d; stat -c %u d/one; ln d/one outside; chmod 700 d; aclfs copy-mode d",
            in: top)
        #expect(run.output.contains("changed 2 objects\n501\n"), "\(run)")
        #expect(run.output.contains("has 3 hard links, 2 of them below the directory"), "\(run)")
    }

    @Test(arguments: TreeFixture.Place.allCases)
    func anotherUsersLinkIsNoOperand(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            "mkdir -p outside d; touch {outside,d}/f; chmod 600 d/f; ln -s outside theirs; chown -h 501 theirs; ln -s d own; ln -s own twice"
        )
        let top = try tree.go(to: place)
        let before = try tree.snapshot()
        for words in ["copy-mode theirs", "strip -R theirs", "preset apply --undo-file ../preset.undo public theirs"] {
            let run = try tree.shell("aclfs \(words)", in: top)
            #expect(run.status == 2 && run.output.contains("a symbolic link of another user, which is not followed"), "\(words): \(run)")
        }
        #expect(try tree.snapshot() == before)
        let run = try tree.shell("aclfs copy-mode twice && stat -c %a d/f && aclfs copy-mode theirs/ && stat -c %a outside/f", in: top)
        #expect(run.output == "changed 1 object\n755\nchanged 1 object\n755", "\(run)")
    }

    /// The directory of its mount point is served by no daemon, the file is.
    @Test func aBindMountOfAServedFileStays() throws {
        let mount = try tree.go(to: .mount)
        try tree.shell("touch f; aclfs chmod +a 'user:501 allow read' f; touch ../part; mount --bind '\(tree.backing)/f' ../part")
        let before = try tree.snapshot()
        let run = try tree.shell("aclfs strip --offline ../part; s=$?; umount ../part; exit $s", in: mount)
        #expect(run.status == 2 && run.output.contains("is a bind mount of an object; name the object itself"), "\(run)")
        #expect(try tree.snapshot() == before)
    }

    // MARK: Undo files

    /// Whoever can write it could make anything of the tree at the next restore.
    @Test func anUndoFileLiesWhereNoOneElseCanWriteIt() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(
            """
            chmod 777 .; mkdir team alone; chown 501:20 team alone; mkdir team/d alone/d; chown 501:20 */d; touch team/d/f alone/d/f; chown 501 */d/f
            aclfs chmod +a 'group:20 allow list,search,add_file,read,write,file_inherit' team
            """)
        let root = try tree.shell(
            "aclfs copy-mode --undo-file team/undo team/d && aclfs ls -le team/undo && aclfs restore team/undo && rm team/undo")
        #expect(root.status == 0 && root.output.contains("-rw-------  1"), "\(root)")
        try tree.fixture.unmount()
        try tree.fixture.mount("noowners")
        let open = try tree.shell("aclfs copy-mode --undo-file team/undo team/d; ls team")
        #expect(open.output.contains("which ignores owners or does not say that it respects them; keep it elsewhere\nd"), "\(open)")
        try tree.fixture.unmount()
        _ = try tree.go(to: .mount)
        let mount = tree.fixture.mountpoint
        // Where a file inherits entries, this one has none.
        let alice = try tree.aclfs(as: .alice, "propagate", "--undo-file", "\(mount)/team/undo", "\(mount)/team")
        #expect(alice.status == 0, "\(alice)")
        #expect(try tree.shell("aclfs ls -le team/undo").output.hasPrefix("-rw-------  1"))
        let own = try tree.aclfs(as: .alice, "propagate", "--undo-file", "\(mount)/alone/undo", "\(mount)/team")
        #expect(own.status == 0, "\(own)")
        let restored = try tree.aclfs("restore", "\(mount)/alone/undo")
        #expect(restored.status == 2 && restored.output.contains("another user could have written it"), "\(restored)")
        try tree.shell("aclfs chmod +a 'bob allow write' alone/undo 2>/dev/null || aclfs chmod +a 'user:502 allow write' alone/undo")
        let opened = try tree.aclfs(as: .alice, "restore", "\(mount)/alone/undo")
        #expect(opened.status == 2 && opened.output.contains("another user could have written it"), "\(opened)")
        #expect(try tree.shell("aclfs chmod -N alone/undo").status == 0)
        #expect(try tree.aclfs(as: .alice, "restore", "\(mount)/alone/undo").status == 0)
    }

    // MARK: Set-id bits

    /// A file that belonged to somebody else meanwhile is not made a program of its old owner.
    @Test(arguments: TreeFixture.Place.allCases)
    func whatAnotherCouldWriteIsNotMadeSetUID(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        let top = try tree.go(to: place)
        try tree.shell("mkdir d; echo good >d/tool; chmod 4755 d/tool; chown 501:20 d; mkdir d/shared; chmod 2775 d/shared", in: top)
        let before = try tree.snapshot()
        let exported = tree.fixture.top + "/lists"
        try tree.shell("aclfs acl export d >'\(exported)'", in: top)
        #expect(try tree.aclfs("copy-mode", "--undo-file", tree.undo, "\(top)/d").status == 0)
        let run = try tree.aclfs("restore", tree.undo)
        #expect(run.status == 1 && run.output.contains("tool: its set-id bits are not restored"), "\(run)")
        #expect(try tree.shell("stat -c '%u %a' d/tool d/shared", in: top).output == "0 755\n0 2775")
        #expect(try tree.aclfs("restore", tree.undo).status == 1)
        let forced = try tree.aclfs("restore", "--force", tree.undo)
        #expect(forced.status == 0 && forced.output == "restored 1 object", "\(forced)")
        #expect(try tree.snapshot() == before)
        // The same for what an export states, also at a second attempt, and if it is the user's own program.
        for mode in ["644", "4755"] {
            try tree.shell("rm d/tool; echo evil >d/tool; chown 501 d/tool; chmod \(mode) d/tool", in: top)
            for _ in 0..<2 {
                let run = try tree.aclfs("acl", "import", exported, "\(top)/d")
                #expect(run.status == 1 && run.output.contains("tool: its set-id bits are left out"), "\(run)")
                #expect(try tree.shell("stat -c '%u %a' d/tool", in: top).output == "0 755")
            }
        }
        #expect(try tree.aclfs("acl", "import", "--set-id", exported, "\(top)/d").status == 0)
        #expect(try tree.shell("stat -c '%u %a' d/tool", in: top).output == "0 4755")
        #expect(try tree.aclfs("acl", "import", exported, "\(top)/d").output == "changed 0 objects")
    }
}
