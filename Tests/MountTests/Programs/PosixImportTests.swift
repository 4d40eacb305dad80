import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs acl import --posix` and `aclfs restore` (docs/reference/posix-acl.md "Import", docs/guide/administration.md "Undo files").
@Suite(
    .serialized,
    .enabled(if: MountTesting.isPossible && isInstalled("setfacl") && isInstalled("getfattr"), "needs root, /dev/fuse, acl, attr"))
struct PosixImportTests {
    /// It ends first: its mounts are in the namespace.
    private let fixture: MountFixture
    /// A mount namespace with control sockets of its own: daemons of other tests may hang.
    private let accounts: PrivateAccounts
    private var within: [String] { accounts.within }
    private var backing: String { fixture.backing }
    private var undo: String { fixture.top + "/import.undo" }

    init() throws {
        accounts = try PrivateAccounts(users: [:], groups: [:])
        fixture = try MountFixture(options: nil, within: accounts.within)
        _ = try Spawn.run(within + ["sh", "-c", "mkdir -p /run/aclfs && mount -t tmpfs -o mode=755 none /run/aclfs"])
    }

    /// Runs a script in the backing directory, as root.
    @discardableResult
    private func shell(_ script: String, in directory: String? = nil) throws -> CommandResult {
        try Spawn.run(within + ["bash", "-uc", "cd '\(directory ?? backing)' && umask 022 && export LC_ALL=C TZ=UTC\n\(script)"])
    }

    private func aclfs(_ words: String...) throws -> CommandResult { try Spawn.run(within + [MountTesting.program("aclfs")] + words) }

    private func importAll(_ words: String...) throws -> CommandResult {
        try Spawn.run(within + [MountTesting.program("aclfs"), "acl", "import", "--posix", "--undo-file", undo] + words + [backing])
    }

    /// Every byte that an import may change: modes, POSIX ACLs, all attributes.
    private func snapshot() throws -> String {
        try shell(
            """
            find . -printf '%p %m %U %G %n\\n' | sort; find . | sort | getfacl -Pnp - 2>&1
            find . | sort | tr '\\n' '\\0' | xargs -0 getfattr -hdm- -e hex 2>&1
            """
        ).output
    }

    /// Objects of each kind, with and without lists and records.
    private static let tree = """
        mkdir plain d d/e both 'a b'; touch plain/f d/e/one d/e/two d/tool 'a b/c'; ln -s d link; mkfifo d/pipe
        chown -R 501:20 .; chmod 4751 d/tool; chmod 2775 both
        setfacl -m u:502:rw,g:600:r d/e/one; setfacl -m u:503:---,m::r d/e/two; setfacl -m u:502:x d/tool; setfacl -m g:600:rw d/pipe
        setfacl -m u:502:rwx,g:601:rx d; setfacl -d -m u:503:rwx,o::- d/e; setfacl -m g:600:rwx,d:g:600:rx,d:u:502:rwx both
        setfacl -d --set u::rwx,g::rx,o::- plain; setfacl -m u:502:r 'a b/c'
        """

    // MARK: Decisions

    /// What users may do on a directory that the kernel judges by its lists, and on the mount of a copy after the import.
    @Test func theMountDecidesAsTheKernelDidBefore() throws {
        let native = fixture.top + "/native"
        mkdir(native, 0o755)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let rounds = MountTesting.isLong ? 200 : 24
        let names = ["u:502", "u:503", "g:600", "g:601"]
        var script = ""
        func list(_ prefix: String = "") -> String {
            let named = names.filter { _ in random.below(2) == 0 }
            return (["u:", "g:", "o:"] + named).map { "\(prefix)\($0):\(random.below(8))" }.joined(separator: ",")
                + ",\(prefix)m::\(1 + random.below(7))"
        }
        for round in 0..<rounds {
            script += "mkdir d\(round); touch f\(round); chown 501:20 d\(round) f\(round)\n"
            script += "setfacl --set \(list()) f\(round); setfacl --set \(list()),\(list("d:")) d\(round)\n"
        }
        #expect(try shell(script, in: native).status == 0)
        #expect(try shell("cp -a '\(native)/.' .").status == 0)
        let imported = try importAll()
        let refused = Set(imported.output.matches(of: /aclfs: (\w+): the .*no entries mean that/).map { String($0.1) })
        #expect(imported.status == (refused.isEmpty ? 0 : 1) && refused.count < rounds, "\(imported)")
        try fixture.mount("nogrpid")
        let groups: [[UInt32]] = [[], [20], [600], [600, 601], [20, 601]]
        let users = (501...504).flatMap { (uid: UInt32) -> [TestUser] in groups.map { TestUser(uid: uid, gid: 1000 + uid, groups: $0) } }
        for user in users {
            let process = try ActingProcess(user, within: within)
            func both(_ call: String, _ name: String, _ rest: String...) throws {
                let expected = try process.call([call, "\(native)/\(name)"] + rest).word
                let found = try process.call([call, "\(fixture.mountpoint)/\(name)"] + rest).word
                #expect(found == expected, "seed \(seed): \(call) \(name) \(rest) by \(user)")
            }
            for round in 0..<rounds {
                for request in 1...7 {
                    try both("access", "f\(round)", String(request), "512")
                    try both("access", "d\(round)", String(request), "512")
                }
                // New objects inherit, without the umask. What the backing directory's own list gives is another thing (docs/reference/posix-acl.md).
                if refused.contains("d\(round)") { continue }
                try both("create", "d\(round)/n\(user.uid)-\(user.groups.count)", "0666", "077")
            }
        }
        // The new objects have the lists that the kernel gave them.
        let lists = "for f in d*/n*; do echo $f $(stat -c %a $f) $(getfacl -Pnpc $f); done"
        let expected = try shell(lists, in: native).output.split(separator: "\n")
        let found = try shell(lists, in: fixture.mountpoint).output.split(separator: "\n")
        #expect(Set(found).symmetricDifference(expected).sorted() == [], "seed \(seed)")
    }

    // MARK: Undo

    @Test func restoreUndoesEveryByte() throws {
        try shell(Self.tree)
        // Records that were there before.
        try fixture.mount()
        _ = try aclfs("chmod", "+a", "user:504 allow list,only_inherit,directory_inherit", fixture.path("both"))
        _ = try aclfs("chflags", "hidden,uchg", fixture.path("d/e/one"))
        try fixture.unmount()
        try shell("setfacl -k both")
        let before = try snapshot()
        let imported = try importAll()
        #expect(imported.status == 0 && imported.output.hasSuffix("changed 9 objects"), "\(imported)")
        let after = try snapshot()
        #expect(after != before && !after.contains("user:50") && !after.contains("default:"), "\(after)")
        #expect(try aclfs("restore", "--dry-run", undo).output.hasSuffix("would restore 9 objects"))
        #expect(try snapshot() == after)
        let restored = try aclfs("restore", undo)
        #expect(restored.status == 0 && restored.output.hasSuffix("restored 9 objects"), "\(restored)")
        #expect(try snapshot() == before)
        let again = try aclfs("restore", undo)
        #expect(again.status == 0 && again.output.hasSuffix("restored 0 objects"), "\(again)")
    }

    /// The import is killed at some of its calls: at each of them in a long run. strace does not know all calls that change something.
    @Test(.enabled(if: isInstalled("strace"), "no strace (apt install strace)"))
    func anImportThatIsKilledAtACallIsUndone() throws {
        try shell(Self.tree)
        let before = try snapshot()
        var killed = 0
        for call in ["/^(f|l)?chmod(at2?)?$", "/^l?setxattr(at)?$", "/^l?removexattr(at)?$", "/^fsync$"] {
            var number = 1
            while number <= 40 {
                unlink(undo)
                let run = try Spawn.run(
                    within + [
                        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)",
                    ]
                        + [MountTesting.program("aclfs"), "acl", "import", "--posix", "--undo-file", undo, backing])
                #expect(run.status == 0 || run.status == 137, "\(call) \(number): \(run)")
                if run.status == 137 { killed += 1 }
                try expectUndone(before, "\(call) \(number)")
                if run.status == 0 { break }
                number += MountTesting.isLong || call == "/^fsync$" ? 1 : 4
            }
            #expect(number <= 40, "\(call)")
        }
        #expect(killed >= 6, "only \(killed) places")
    }

    /// The same at any time, with more objects than a batch has.
    @Test func anImportThatIsKilledAtAnyTimeIsUndone() throws {
        try shell("mkdir {1..20}; touch {1..20}/{1..20}; setfacl -R -m u:502:rX,g:600:r .; setfacl -d -m u:503:rwx {1..20}")
        let before = try snapshot()
        let program = MountTesting.program("aclfs")
        let begun = DispatchTime.now()
        #expect(try importAll().status == 0)
        let duration = Double(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds) / 1e9
        try expectUndone(before, "complete")
        var incomplete = 0
        for _ in 0..<(MountTesting.isLong ? 200 : 8) {
            unlink(undo)
            let delay = String(format: "%.4f", duration * Double.random(in: 0.2...1))
            let run = try Spawn.run(
                within + ["timeout", "-s", "KILL", delay, program, "acl", "import", "--posix", "--undo-file", undo, backing])
            let now = try shell("getfacl -Rpn . | grep -c 502").output
            if run.status != 0, now != "0", now != "421" { incomplete += 1 }
            try expectUndone(before, "killed after \(delay) s of \(duration)")
        }
        print("PosixImportTests: \(incomplete) imports were killed half-way")
    }

    private func expectUndone(_ before: String, _ comment: String, _ location: SourceLocation = #_sourceLocation) throws {
        let restored = try aclfs("restore", undo)
        #expect(try snapshot() == before, "\(comment): \(restored)", sourceLocation: location)
        // Killed before the header was written: then nothing is changed.
        let isNone = restored.output.contains("not an undo file") || restored.output.contains("No such file")
        #expect(restored.status == 0 || isNone, "\(comment): \(restored)", sourceLocation: location)
    }

    @Test func whatWasChangedSinceStays() throws {
        try shell(Self.tree)
        #expect(try importAll().status == 0)
        try shell("chmod 600 d/e/one; setfacl -m u:504:r d/tool; rm 'a b/c'; touch 'a b/c'; ln d/e/two d/second")
        let restored = try aclfs("restore", undo)
        #expect(restored.status == 1, "\(restored)")
        for line in [
            "d/e/one: it was changed since; --force restores it anyway", "d/tool: it was changed since",
            "a b/c: another object has this name",
            "d/e/two: has 2 hard links, and had 1; --hard-links includes it", "restored 5 objects, left 4 unchanged",
        ] { #expect(restored.output.contains(line), "\(line) is not in \(restored)") }
        let forced = try aclfs("restore", "--force", "--hard-links", undo)
        #expect(forced.status == 1 && forced.output.hasSuffix("restored 3 objects, left 1 unchanged"), "\(forced)")
        #expect(try shell("getfacl -cn d/e/one d/tool | grep -c user:50").output == "2")
    }

    @Test func aMovedDirectoryIsNamed() throws {
        try shell(Self.tree)
        let before = try snapshot()
        #expect(try importAll().status == 0)
        let moved = fixture.top + "/moved"
        #expect(rename(backing, moved) == 0)
        mkdir(backing, 0o755)
        let other = try aclfs("restore", undo)
        #expect(other.status == 2 && other.output.contains("is not the directory of this undo file"), "\(other)")
        #expect(try aclfs("restore", undo, moved).status == 0)
        rmdir(backing)
        #expect(rename(moved, backing) == 0)
        #expect(try snapshot() == before)
    }

    // MARK: What stays

    @Test func dryRunChangesNothing() throws {
        try shell(Self.tree)
        let before = try snapshot()
        let run = try aclfs("acl", "import", "--posix", "--dry-run", backing)
        #expect(run.status == 0 && run.output.hasSuffix("would change 9 objects"), "\(run)")
        #expect(run.output.contains("would change d/e/one (mode 0664 to 0644)\n 0: "), "\(run)")
        let json = try aclfs("acl", "import", "--posix", "--dry-run", "--json", backing)
        #expect(
            json.output.contains(#"{"path":"d/e/one","action":"would change","old_mode":"0664","new_mode":"0644","entries":["#), "\(json)")
        #expect(try snapshot() == before)
    }

    @Test func listsWithoutEntriesOfTheSameMeaningStay() throws {
        try shell(
            """
            touch three empty good own; mkdir divided sticky inherits; chmod +t sticky; chown 501:20 *
            setfacl --set u::rw,g::-,g:600:rw,g:601:wx,g:602:rx,o::- three; setfacl --set u::rw,g::r,u:502:rw,m::-,o::r empty
            setfacl -m g:600:w,g:601:x,o::- divided; setfacl -m u:502:rwx sticky; setfacl -m u:502:r good own
            """)
        try fixture.mount()
        _ = try aclfs("chmod", "+a", "user:504 allow delete", fixture.path("own"))
        _ = try aclfs("chmod", "+a", "user:504 allow list,file_inherit", fixture.path("inherits"))
        try fixture.unmount()
        try shell("setfacl -b own; setfacl -m u:502:r own; setfacl -d -m u:502:r inherits")
        let before = try snapshot()
        let run = try importAll("--verbose")
        #expect(run.status == 1 && run.output.hasSuffix("changed 1 object, left 6 unchanged"), "\(run)")
        for line in [
            "aclfs: three: the access ACL: three groups", "aclfs: empty: the access ACL: its mask is empty",
            "aclfs: divided: the access ACL: on a directory",
            "aclfs: sticky: the access ACL: in a sticky directory", "aclfs: own: the access ACL: the object also has entries",
            "aclfs: inherits: the default ACL: new objects also inherit entries", "\nchanged good",
        ] { #expect(run.output.contains(line), "\(line) is not in \(run)") }
        #expect(try aclfs("restore", undo).status == 0)
        #expect(try snapshot() == before)
    }

    /// On ext4 with small blocks a POSIX ACL may fit where its entries do not.
    @Test(.enabled(if: LoopTesting.isPossible, "needs loop devices and mkfs.ext4"))
    func aListThatDoesNotFitStays() throws {
        let result = try Spawn.run(
            within + [
                "unshare", "--mount", "--propagation", "private", "bash", "-uec",
                """
                cd "$1"; truncate -s 16M image; mkfs.ext4 -q -F -b 1024 image; mkdir fs; mount -o loop image fs; cd fs; touch long short
                setfacl -m "$(seq -f 'u:%g:r' -s , 1000 1045)" long; setfacl -m u:502:r short; getfacl -n long short >../before
                "$2" acl import --posix --undo-file ../undo . || echo "status $?"; getfacl -n long short | diff ../before - | grep -c '^<.*user:1' || :
                "$2" restore ../undo; getfacl -n long short | cmp - ../before && echo same; cd ..; umount fs
                """, "bash", fixture.top, MountTesting.program("aclfs"),
            ])
        #expect(result.output.contains("aclfs: long: No space left on device: its attributes have no room for the entries"), "\(result)")
        #expect(result.output.hasSuffix("changed 1 object, left 1 unchanged\nstatus 1\n0\nrestored 1 object\nsame"), "\(result)")
    }

    @Test func aRecordUnderTheOtherNameIsNotLeftBehind() throws {
        try shell("touch f; setfacl -m u:502:r f")
        #expect(try importAll("--metadata", "user").status == 0)
        try shell("setfacl -m u:502:r f")
        let before = try snapshot()
        unlink(undo)
        let run = try importAll()
        #expect(run.status == 1 && run.output.contains("f: it has a record in user.aclfs; say with --metadata which"), "\(run)")
        #expect(try snapshot() == before)
    }

    /// Names that act on a terminal, or are no text, or hold the end of a line.
    @Test func everyNameIsFoundAgain() throws {
        try shell(#"mkdir $'d\e[31m'; touch $'d\e[31m/a\nb' $'d\e[31m/\xff' '"\'; setfacl -R -m u:502:rX ."#)
        let lists = "find . -print0 | sort -z | xargs -0 getfacl -Pnp"
        let before = try shell(lists).output
        let run = try importAll("--verbose")
        #expect(
            run.output.hasSuffix("changed 5 objects") && !run.output.contains("\u{1B}") && run.output.contains(#"d\x1b[31m/a\x0ab"#),
            "\(run)")
        #expect(try shell(lists).output != before)
        #expect(try aclfs("restore", undo).output.hasSuffix("restored 5 objects"))
        #expect(try shell(lists).output == before)
    }

    @Test func hardLinksOutsideKeepAnObjectFromBeingChanged() throws {
        try shell("mkdir d; touch in out; setfacl -m u:502:r in out; ln in d/in; ln out '\(fixture.top)/elsewhere'")
        let run = try importAll()
        #expect(
            run.status == 1 && run.output.contains("out: has 2 hard links, 1 of them below the directory; --hard-links includes it"),
            "\(run)")
        #expect(run.output.hasSuffix("changed 1 object, left 1 unchanged"))
        unlink(undo)
        #expect(try importAll("--hard-links").output.hasSuffix("changed 1 object"))
        #expect(try aclfs("restore", undo).output.hasSuffix("restored 1 object"))
    }

    @Test func mountsBelowAndSymlinksAreNotEntered() throws {
        let result = try Spawn.run(
            within + [
                "unshare", "--mount", "--propagation", "private", "bash", "-uec",
                """
                cd "$1"; mkdir sub out; mount -t tmpfs none sub; touch sub/f; setfacl -m u:502:r sub/f
                touch "$4/f"; setfacl -m u:502:r "$4/f"; ln -s "$4" link
                "$2" acl import --posix --undo-file "$3" . || echo "status $?"; getfacl -cn sub/f link/f | grep -c 502; umount sub
                """, "bash", backing, MountTesting.program("aclfs"), undo, fixture.top,
            ])
        #expect(result.output.contains("aclfs: sub: another file system is mounted here, and was not entered"), "\(result)")
        #expect(result.output.hasSuffix("changed 0 objects, left 1 unchanged\nstatus 1\n2"), "\(result)")
    }

    /// Another user exchanges directories for links to a tree outside while imports and their undoing run.
    @Test func noRaceLeadsOutOfTheDirectory() throws {
        let result = try Spawn.run(
            within + [
                "bash", "-uc",
                """
                cd "$1"; mkdir -p "$3/out/e"; for n in 1 2 3 4 5 6 7 8; do mkdir -p d$n/e; touch d$n/e/f "$3/out/e/f"; setfacl -R -m u:502:rX d$n "$3/out"; done
                getfacl -Rpn "$3/out" >"$3/before"
                (while [ ! -e "$3/stop" ]; do for n in 1 2 3 4 5 6 7 8; do mv d$n x && ln -s "$3/out" d$n; rm d$n; mv x d$n; done; done 2>/dev/null) &
                for round in $(seq 10); do
                    "$2" acl import --posix --undo-file "$3/undo$round" . >/dev/null 2>&1; "$2" restore "$3/undo$round" >/dev/null 2>&1
                done
                touch "$3/stop"; wait; getfacl -Rpn "$3/out" | cmp - "$3/before" && getfattr -Rhm- "$3/out" 2>&1 | grep -c '^trusted.aclfs'
                cat "$3"/undo* | grep -c '"path":"d./e/f"' | sed 's/^0$/nothing was imported/; s/^[0-9].*/imported/'
                """, "bash", backing, MountTesting.program("aclfs"), fixture.top,
            ])
        #expect(result.output == "0\nimported", "\(result)")
    }

    @Test func fewDescriptorsAreEnoughForADeepTree() throws {
        let result = try shell(
            """
            for level in $(seq 120); do mkdir d; setfacl -m u:502:rx d; touch f; setfacl -m u:502:r f; cd d; done; cd '\(backing)'
            ulimit -n 40; '\(MountTesting.program("aclfs"))' acl import --posix --undo-file '\(undo)' . &&
            '\(MountTesting.program("aclfs"))' restore '\(undo)'; getfacl -RPpn . | grep -c user:502
            """)
        #expect(result.output.hasSuffix("changed 240 objects\nrestored 240 objects\n240"), "\(result)")
    }

    // MARK: Refusals

    @Test func aServedDirectoryIsRefused() throws {
        try shell(Self.tree)
        let before = try snapshot()
        let program = MountTesting.program("aclfs")
        func refused(_ path: String, _ reason: String) throws {
            let run = try Spawn.run(within + [program, "acl", "import", "--posix", "--undo-file", undo, path])
            #expect(run.status == 2 && run.output.contains(reason), "\(path): \(run)")
            #expect(access(undo, F_OK) != 0)
        }
        try fixture.mount("fsname=another-name")
        try refused(backing, "a daemon serves it, or a directory inside or around it; unmount it first")
        try refused(backing + "/d", "a daemon serves it")
        try refused(fixture.top + "/private", "a daemon serves it")
        try refused(fixture.mountpoint, "lies in the aclfs mount")
        // `..` of a bind mount leads elsewhere.
        let part = fixture.top + "/part"
        _ = try Spawn.run(within + ["sh", "-c", "mkdir -p '\(part)' && mount --bind '\(backing)/d' '\(part)'"])
        try refused(part, "a daemon serves it")
        _ = try Spawn.run(within + ["umount", part])
        try fixture.unmount()
        for (source, asked) in [(backing, fixture.top + "/private"), (backing + "/d", backing)] {
            _ = try Spawn.run(within + ["mount", "--bind", source, part])
            let mounted = try Spawn.run(within + [program, "mount", "-o", "fsname=another-name", part, fixture.mountpoint])
            #expect(mounted.status == 0, "\(mounted)")
            try refused(asked, "a daemon serves it")
            try fixture.unmount()
            _ = try Spawn.run(within + ["umount", part])
        }
        try fixture.mount()
        try refused(backing + "/d", "it is mounted at \(fixture.mountpoint)")
        try fixture.unmount()
        #expect(try snapshot() == before)
        #expect(try importAll().status == 0)
        try fixture.mount()
        let restored = try aclfs("restore", undo)
        #expect(restored.status == 2 && restored.output.contains("it is mounted at"), "\(restored)")
    }

    @Test func wrongWordsAreRefused() throws {
        try shell(Self.tree)
        let before = try snapshot()
        try shell("ln -s elsewhere '\(undo)'")
        for (words, reason) in [
            (["--undo-file", undo], "exists already; name a new file"), ([], "--posix needs --undo-file FILE"),
            (["--dry-run", "--undo-file", undo + "2"], "use one of the two"), (["--undo-file", fixture.top + "/none/x"], "No such file"),
            (["--dry-run", "--metadata", "both"], "'both' is not one of auto, trusted and user"),
        ] {
            let run = try Spawn.run(within + [MountTesting.program("aclfs"), "acl", "import", "--posix"] + words + [backing])
            #expect(run.status == 2 && run.output.contains(reason), "\(words): \(run)")
        }
        let kind = try aclfs("acl", "import", "--dry-run", backing)
        #expect(kind.status == 2 && kind.output.contains("name an export and what to import it into, or --posix"), "\(kind)")
        let unknown = try aclfs("acl", "imprt", backing)
        #expect(unknown.status == 2 && unknown.output.contains("did you mean 'import'?"), "\(unknown)")
        #expect(try aclfs("acl", "import", "--posix", "--dry-run", backing + "/plain/f").status == 2)
        #expect(try snapshot() == before)
    }

    /// Undo files of others, and lines that no import writes: nothing is done, and the line is named.
    @Test func hostileUndoFilesAreRefused() throws {
        try shell(Self.tree)
        #expect(try importAll().status == 0)
        let before = try snapshot()
        let whole = try String(contentsOfFile: undo, encoding: .utf8)
        let file = fixture.top + "/hostile.undo"
        func refused(_ text: String, _ reason: String, status: Int32 = 2) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
            let run = try aclfs("restore", file)
            #expect(run.status == status && run.output.contains(reason), "\(reason): \(run)")
            #expect(try snapshot() == before, "\(reason)")
        }
        func changed(_ old: String, _ new: String) -> String { whole.replacingOccurrences(of: old, with: new) }
        try refused("", "not an undo file of aclfs")
        try refused("{\"aclfs\":\"undo\",\"version\":1}\n", "the header is incomplete")
        try refused(changed("\"version\":1", "\"version\":2"), "version 2; this aclfs reads version 1")
        for path in ["../x", "/etc/passwd", "d/../../x", "d//e/one", "d/./e/one", "", "./d/e/one"] {
            try refused(changed("\"path\":\"d/e/one\"", "\"path\":\"\(path)\""), "does not stay below the directory")
        }
        try refused(changed("\"mode\":\"664\"", "\"mode\":\"4775\""), "no mode from 0 to 777")
        try refused(changed("\"record_b64\":null", "\"record_b64\":\"AAAA\""), "its record cannot be read")
        try refused(changed("\"posix_b64\":null", "\"posix_b64\":\"AAAA\""), "the POSIX ACL is malformed")
        try refused(whole + "{\"path\":\"" + String(repeating: "x", count: 70_000) + "\"}\n", "longer than 65536 bytes")
        try refused(whole + "[]\n", "no path")
        try refused(changed("\"inode\":\"", "\"inode\":\"1"), "is not the directory of this undo file")
        // A file that another user could have written, or that a link leads to.
        try Data(whole.utf8).write(to: URL(fileURLWithPath: file))
        for (prepare, reason) in [
            ("chown 501 '\(file)'", "another user could have written it"),
            ("chown 0 '\(file)'; chmod 620 '\(file)'", "another user could have written it"),
            ("rm '\(file)'; ln -s '\(undo)' '\(file)'", "a symbolic link"), ("rm '\(file)'; mkfifo '\(file)'", "not a regular file"),
        ] {
            try shell(prepare)
            let run = try aclfs("restore", file)
            #expect(run.status == 2 && run.output.contains(reason), "\(reason): \(run)")
        }
        #expect(try snapshot() == before)
        // A directory of a path became a link to a tree that looks alike.
        try shell("cp -a d '\(fixture.top)/alike'; mv d other; ln -s '\(fixture.top)/alike' d")
        let linked = try aclfs("restore", undo)
        #expect(linked.status == 1 && linked.output.contains("d/e/one: Not a directory"), "\(linked)")
        #expect(try shell("getfacl -Rpn '\(fixture.top)/alike' | grep -c user:50").output == "0")
    }

    // MARK: An ordinary user

    @Test func theOwnerOfATreeNeedsNoRoot() throws {
        let home = fixture.top + "/home"
        mkdir(home, 0o755)
        chown(home, 501, 20)
        let program = MountTesting.program("aclfs")
        let script = """
            cd '\(home)'; umask 077; mkdir t; touch t/f t/closed; setfacl -m u:502:r t/f t/closed; chmod 0 t/closed; ls -l t >1; getfacl -Rn t >>1
            '\(program)' acl import --posix --undo-file u t && getfattr -n user.aclfs t/f >/dev/null && getfacl -Rn t | grep -c 502
            '\(program)' restore u; ls -l t >2; getfacl -Rn t >>2; cmp 1 2 && echo same
            """
        let result = try Spawn.run(within + TestUser.alice.arguments + ["--", "sh", "-c", script])
        #expect(result.output.hasSuffix("changed 2 objects\n0\nrestored 2 objects\nsame"), "\(result)")
    }
}
