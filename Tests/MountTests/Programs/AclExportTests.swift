import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs acl export`, `import`, `diff`, `copy` and `remap` (docs/guide/export.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct AclExportTests {
    /// It ends first: its mounts are in the namespace.
    private let fixture: MountFixture
    private let accounts: PrivateAccounts
    private var top: String { fixture.top }
    private var mount: String { fixture.mountpoint }
    private var backing: String { fixture.backing }

    init() throws {
        accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503], groups: [20: .init(name: "staff", members: ["alice", "bob"])])
        fixture = try MountFixture(options: nil, within: accounts.within)
        _ = try Spawn.run(accounts.within + ["sh", "-c", "mkdir -p /run/aclfs && mount -t tmpfs -o mode=755 none /run/aclfs"])
        try fixture.mount()
    }

    /// Runs a script in a directory of its own; A is the program, M the mount, B the backing directory.
    @discardableResult
    private func shell(_ script: String, as user: TestUser = .root) throws -> CommandResult {
        try Spawn.run(
            accounts.within + user.arguments + [
                "--", "bash", "-uc",
                "A='\(MountTesting.program("aclfs"))'; M='\(mount)'; B='\(backing)'; export LC_ALL=C; umask 022; cd '\(top)'\n\(script)",
            ])
    }

    private func must(_ script: String, as user: TestUser = .root) throws -> String {
        let result = try shell(script, as: user)
        #expect(result.status == 0, "\(script): \(result)")
        return result.output
    }

    /// Objects of each kind, with everything that an export states, and names of any bytes.
    private func makeTree() throws {
        _ = try must(
            #"""
            set -e; chmod 777 .; cd "$M"; mkdir -p d/e ' blank ' a; touch d/f d/e/g a.b a/b $'a\nb' $'\xff\xfe' 'x\x41' ' blank /y '
            ln -s d link; mkfifo d/pipe; chown -R 501:20 .; chmod 4750 d/f; chmod 2770 d/e; chmod 600 a.b
            "$A" chmod +a 'bob deny write' d/f; "$A" chmod +ai 'group:staff allow read,execute' d/f
            "$A" chmod +a 'everyone deny delete,file_inherit,directory_inherit,only_inherit' d
            "$A" chmod +a 'user:#4000 allow read' a.b; "$A" chmod +a 'group:#4001 allow write' d/pipe
            "$A" chmod +a 'bob allow read' $'a\nb'; "$A" chmod -a# 0 $'a\nb'
            "$A" chmod -h +a 'bob allow read' link
            "$A" chflags hidden a.b; "$A" chflags uappnd d/e/g; "$A" backup exclude a/b
            setfattr -n system.aclfs.owner -v ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014 d/e
            "$A" chflags schg $'\xff\xfe'
            """#)
    }

    // MARK: Export

    @Test(.enabled(if: isInstalled("setfattr"), "no setfattr (apt install attr)"))
    func aMountAndItsBackingDirectoryAreExportedAlike() throws {
        try makeTree()
        for form in ["", "--json"] {
            let onMount = try must("\"$A\" acl export --sorted \(form) \"$M\" | grep -v source >one; cat one")
            try fixture.unmount()
            let offline = try must("\"$A\" acl export --offline --sorted \(form) \"$B\" | grep -v source >two; cat two")
            #expect(onMount == offline)
            try fixture.mount()
            if !form.isEmpty { continue }
            for line in [
                "# file: \\x20blank /y\\x20", "# file: a\\x0ab", "# file: \\xff\\xfe", "# file: x\\x5cx41", "# mode: 4750",
                "# owner: group:staff", "# flags: hidden", "# backup: excluded", "user:bob deny write",
                "group:staff inherited allow read,execute", "FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000FA0 allow read",
                "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000FA1 allow write", "# flags: schg",
                "# kind: symlink", "# kind: fifo", "# acl: empty", "# name: user:bob FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6", "# end: 15",
            ] { #expect(onMount.split(separator: "\n").contains(Substring(line)), "\(line) is not in \(onMount)") }
        }
        // By an order of the file system the same objects are there.
        let (one, two) = (try must("\"$A\" acl export \"$M\" | sort"), try must("\"$A\" acl export --sorted \"$M\" | grep -v order | sort"))
        #expect(one == two)
        #expect(try must("\"$A\" acl diff \"$M\" <(\"$A\" acl export --json \"$M\")").isEmpty)
    }

    @Test func whatTheCallerMayNotReadIsNamed() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir open closed; touch open/f open/secret closed/g; chown -R 501:20 .; chmod 700 closed; chmod 755 . open
            "$A" chmod +a 'carol deny readsecurity' open/secret
            """#)
        let run = try shell("\"$A\" acl export --sorted \"$M\"", as: TestUser(uid: 503, gid: 30, groups: [30]))
        #expect(run.status == 1, "\(run)")
        for line in ["# file: open/f", "# unread: closed", "# unread: open/secret", "# end: 6"] {
            #expect(run.output.contains(line), "\(line): \(run)")
        }
        #expect(run.output.contains("aclfs: closed: Permission denied") && run.output.contains("aclfs: open/secret: Permission denied"))
        // The comparison says nothing about these.
        let compared = try shell(
            "\"$A\" acl export --sorted \"$M\" 2>/dev/null >/dev/null; \"$A\" acl diff --ignore flags \"$M\" \"$M\"", as: .carol)
        #expect(compared.status == 2 && !compared.output.contains("only in"), "\(compared)")
        // A user who is not root is not told that a backing directory has no lists.
        _ = try must("mkdir plain && chown 501 plain")
        let plain = try shell("\"$A\" acl export --offline plain", as: .alice)
        #expect(plain.status == 2 && plain.output.contains("only root can read all that a backing directory stores"), "\(plain)")
    }

    @Test(.enabled(if: isInstalled("setfacl"), "no setfacl (apt install acl)"))
    func aPosixACLIsNotLostSilently() throws {
        try fixture.unmount()
        _ = try must("touch \"$B\"/f \"$B\"/g && setfacl -m u:502:rw \"$B\"/f")
        let offline = try shell("\"$A\" acl export --offline \"$B\"")
        #expect(offline.status == 1 && offline.output.contains("aclfs: f: it has a POSIX ACL"), "\(offline)")
        try fixture.mount()
        let onMount = try shell("\"$A\" acl export \"$M\"")
        #expect(
            onMount.status == 1 && onMount.output.contains("aclfs: f: it has a POSIX ACL") && onMount.output.contains("# file: g"),
            "\(onMount)")
    }

    @Test func aFullDiskAndADamagedRecordAreNamed() throws {
        _ = try must("cd \"$M\" && touch f g && \"$A\" chmod +a 'bob allow read' f")
        let full = try shell("\"$A\" acl export \"$M\" >/dev/full")
        #expect(full.status == 1 && full.output.contains("No space left on device"), "\(full)")
        try fixture.unmount()
        _ = try must("python3 -c 'import os,sys; os.setxattr(sys.argv[1], \"trusted.aclfs\", b\"xx\")' \"$B\"/f")
        let damaged = try shell("\"$A\" acl export --offline \"$B\"")
        #expect(damaged.status == 1 && damaged.output.contains("# unread: f\n# reason: its record cannot be read"), "\(damaged)")
    }

    // MARK: Compare

    @Test func differencesAreNamed() throws {
        try fixture.unmount()
        _ = try must(
            """
            mkdir one two; touch one/same two/same one/f two/f; mkdir one/only one/only/below two/other; touch two/other/x
            chmod 640 one/f; ln -s x one/kind; touch two/kind
            """
        )
        let run = try shell("\"$A\" acl diff --offline one two")
        #expect(run.status == 1)
        #expect(
            run.output == """
                f
                  -# mode: 0640
                  +# mode: 0644
                kind
                  -# kind: symlink
                  +# kind: file
                only in one: only (directory, with all below it)
                only in two: other (directory, with all below it)
                """)
        let json = try shell("\"$A\" acl diff --offline --json one two")
        #expect(json.output.contains(#"{"path":"f","change":"changed","properties":{"mode":["0640","0644"]}}"#), "\(json)")
        #expect(json.output.contains(#"{"path":"only/below","change":"only","in":"one","kind":"directory"}"#), "\(json)")
        #expect(try shell("\"$A\" acl diff --offline --ignore mode one/f two/f 2>&1; \"$A\" acl diff --offline one one").status == 0)
        for (words, reason) in [
            ("one none", "No such file"), ("--ignore mod one two", "did you mean 'mode'"),
            ("one <(\"$A\" acl export --offline one | head -n 9)", "truncated"),
            ("- -", "standard input is one export"),
            ("one <(printf '# aclfs: export 1\\n# file: ../x\\n# kind: file\\n# end: 1\\n')", "must be relative"),
        ] {
            let bad = try shell("\"$A\" acl diff --offline \(words)")
            #expect(bad.status == 2 && bad.output.contains(reason), "\(words): \(bad)")
        }
        // An export in any order, and names of another host.
        #expect(try shell("\"$A\" acl export --offline one | \"$A\" acl diff --offline - one").status == 0)
        _ = try must("chown 501 one/f; \"$A\" acl export --offline one | sed 's/000001F5/000007D1/; s/alice/alice/' >elsewhere")
        #expect(try shell("\"$A\" acl diff --offline elsewhere one").status == 1)
        #expect(try shell("\"$A\" acl diff --offline --names elsewhere one").status == 0)
    }

    // MARK: Import

    /// What the tree becomes when all of it is changed.
    private static let damage = #"""
        cd "$M"; "$A" chflags -R 0 . 2>/dev/null; "$A" chflags noschg $'\xff\xfe'; "$A" chmod -R -N .
        chown -hR 502:0 .; chmod -R 777 . 2>/dev/null
        "$A" backup include a/b; "$A" chmod +a 'carol allow write' a.b d/f
        """#

    @Test(.enabled(if: isInstalled("setfattr"), "no setfattr (apt install attr)"), arguments: [true, false])
    func everythingComesBack(_ isOnMount: Bool) throws {
        try makeTree()
        let target = isOnMount ? "\"$M\"" : "--offline \"$B\""
        let export = "\"$A\" acl export --sorted \(target) | grep -v source"
        if !isOnMount { try fixture.unmount() }
        let before = try must("\(export) >before; cat before")
        if !isOnMount { try fixture.mount() }
        // An attribute that excludes an object is removed on a mount only.
        try shell(Self.damage + (isOnMount ? "\n\"$A\" backup exclude d" : ""))
        if !isOnMount { try fixture.unmount() }
        let damaged = try must(export)
        #expect(damaged != before)
        let dry = try shell("\"$A\" acl import --set-id --dry-run before \(target)")
        #expect(dry.status == 0 && dry.output.contains("would change 15 objects"), "\(dry)")
        #expect(try must(export) == damaged)
        let run = try shell("\"$A\" acl import --set-id --undo-file undo before \(target)")
        #expect(run.status == 0 && run.output == "changed 15 objects", "\(run)")
        #expect(try must(export) == before)
        let restored = try shell("\"$A\" restore undo")
        #expect(restored.status == 0 && restored.output == "restored 15 objects", "\(restored)")
        #expect(try must(export) == damaged)
        // Of JSON from standard input.
        let piped = try shell(
            "\"$A\" acl import --set-id before \(target) >/dev/null && \"$A\" acl export --json \(target) | \"$A\" acl import - \(target)")
        #expect(piped.status == 0 && piped.output == "changed 0 objects", "\(piped)")
        #expect(try must(export) == before)
    }

    /// Nothing is changed by a file that is no whole export.
    @Test func aBadFileChangesNothing() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir d; touch d/f; chown -R 501:20 .; "$A" chmod +a 'bob allow read' d/f
            "$A" acl export . >../good; chmod 700 d
            """#
        )
        let before = try must("\"$A\" acl export --sorted \"$M\"")
        let size = try #require(Int(must("stat -c %s good")))
        for cut in stride(from: 0, to: size - 1, by: 37) {
            let run = try shell("head -c \(cut) good | \"$A\" acl import - \"$M\"")
            #expect(run.status == 2 && run.output.contains(cut == 0 ? "empty" : "the file was truncated"), "\(cut): \(run)")
        }
        for (change, reason) in [
            ("s,^# file: d/f,# file: d/../../x,", "must be relative"), ("s,^# file: d/f,# file: /etc/passwd,", "must be relative"),
            ("s,^# file: d/f,# file: d,", "appears twice"), ("s,allow read,allow raed,", "did you mean 'read'"),
            ("s,^# mode: .*,# mode: 99,", "not a mode"),
            ("s,bob,robert,g", "no user 'robert' here"), ("s,^# end: .*,# end: 1,", "the end states"),
        ] {
            let run = try shell("sed '\(change)' good | \"$A\" acl import - \"$M\"")
            #expect(run.status == 2 && run.output.contains(reason), "\(change): \(run)")
        }
        for (words, reason) in [
            ("good", "name an export and what"), ("--posix good .", "one backing directory"),
            ("--unknown both good \"$M\"", "neither refuse nor keep"),
            ("--map-user alice good \"$M\"", "OLD=NEW"), ("--map-user alice=robert good \"$M\"", "no user 'robert'"),
            ("--ignore kind good \"$M\"", "not a property"), ("--map good good \"$M\"", "line "), ("\"$M\" \"$M\"", "Is a directory"),
            ("--dry-run --undo-file x good \"$M\"", "use one of the two"),
        ] {
            let run = try shell("\"$A\" acl import \(words)")
            #expect(run.status == 2 && run.output.contains(reason), "\(words): \(run)")
        }
        #expect(try must("\"$A\" acl export --sorted \"$M\"") == before)
    }

    /// Of the calls that an object needs, the message names the one that is refused, and who may make it.
    @Test func aRefusedImportSaysWhatIsRefused() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; touch owner group flags; chown 501:20 .; chown 501:20 *
            { printf '# aclfs: export 1\n\n# file: owner\n# kind: file\n# owner: bob\n\n# file: group\n# kind: file\n# group: #4001\n\n'
              printf '# file: flags\n# kind: file\n# flags: schg\n\n# end: 3\n'; } >../others; chmod 644 ../others
            """#)
        let before = try must("\"$A\" acl export --sorted \"$M\"")
        let run = try shell("\"$A\" acl import others \"$M\"", as: .alice)
        #expect(run.status == 1 && run.output.contains("changed 0 objects, left 3 unchanged"), "\(run)")
        let onlyRoot = "Operation not permitted: chown is denied: only root gives an object to another user, or to a group"
        for line in ["/owner: the owner 502: \(onlyRoot)", "/group: the group 4001: \(onlyRoot)", "/flags: the flags schg: Operation not"] {
            #expect(run.output.contains(line), "\(line) is not in \(run)")
        }
        #expect(try must("\"$A\" acl export --sorted \"$M\"") == before)
        let owner = try shell("\"$A\" owner --group staff \"$M\"/owner", as: .alice)
        #expect(owner.status == 1 && owner.output.contains(onlyRoot), "\(owner)")
    }

    /// A tree that another user prepared does not lead elsewhere, and what does not fit stays as it is.
    @Test func objectsThatAreOthersStayAsTheyAre() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir d kind gone; touch d/f linked gone/x; echo secret >victim; chmod 644 *; chmod 755 d gone
            "$A" acl export . >../export; sed -i 's/^# mode: 0.*/# mode: 0777/' ../export
            rm -r d gone kind; mkdir other; touch other/f; ln -s other d; touch kind; ln linked ../outside 2>/dev/null || ln linked second
            """#)
        let run = try shell("\"$A\" acl import export \"$M\"")
        #expect(run.status == 1, "\(run)")
        for line in [
            "d/f: ", "/d: is a symlink, and the export states a directory", "kind: is a file, and the export states a directory",
            "gone: No such file", "linked: has 2 hard links, 1 of them",
        ] { #expect(run.output.contains(line), "\(line) is not in \(run)") }
        let modes = try must("cd \"$M\" && stat -c '%n %a' other/f kind linked victim")
        #expect(modes == "other/f 644\nkind 644\nlinked 644\nvictim 777")
        #expect(try must("cd \"$M\" && \"$A\" acl import --hard-links ../export . >/dev/null 2>&1; stat -c %a linked") == "777")
    }

    @Test func namesBecomeThoseOfThisHost() throws {
        _ = try must(
            #"""
            cd "$M" && touch f && chown 501:20 f && "$A" chmod +a 'bob deny write' f && "$A" acl export . >../here
            sed 's/000001F6/0000138A/; s/bob/robert/' ../here >../elsewhere; "$A" chmod -N f
            """#)
        func list(_ words: String) throws -> String {
            let run = try shell(
                "\"$A\" chmod -N \"$M\"/f; \"$A\" acl import \(words) \"$M\" >/dev/null && \"$A\" ls -le \"$M\" | tail -n 1")
            return run.status == 0 ? run.output.trimmingCharacters(in: .whitespaces) : "\(run)"
        }
        #expect(try list("here") == "0: user:bob deny write")
        #expect(try list("--map-user robert=carol elsewhere") == "0: user:carol deny write")
        #expect(try list("--map-user '#5002=carol' elsewhere") == "0: user:carol deny write")
        #expect(try list("--map-user FFFFEEEE-DDDD-CCCC-BBBB-AAAA0000138A=carol elsewhere") == "0: user:carol deny write")
        #expect(try list("--map <(echo user:robert=carol) elsewhere") == "0: user:carol deny write")
        #expect(try list("--unknown keep elsewhere") == "0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA0000138A deny write")
        #expect(try list("--numeric elsewhere") == "0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA0000138A deny write")
        #expect(try list("--ignore acl elsewhere").hasSuffix(" f"))
        let refused = try shell("\"$A\" acl import elsewhere \"$M\"")
        #expect(refused.status == 2 && refused.output.contains("f: no user 'robert' here; --map-user robert=NEW"), "\(refused)")
    }

    /// An ordinary user imports what the mount lets that user change.
    @Test func anOrdinaryUserImportsOwnFiles() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir mine; touch mine/f mine/theirs; chown -R 501:20 mine; chown 502 mine/theirs
            "$A" chmod +a 'bob deny read' mine/f mine/theirs; "$A" acl export mine >../export; "$A" chmod -R -N mine
            """#
        )
        let run = try shell("\"$A\" acl import --undo-file undo export \"$M\"/mine", as: .alice)
        #expect(run.status == 2 || run.status == 1, "\(run)")
        let plain = try shell("\"$A\" acl import export \"$M\"/mine", as: .alice)
        #expect(
            plain.status == 1 && plain.output.contains("/mine/theirs: Operation not permitted")
                && plain.output.contains("changed 1 object"), "\(plain)")
        #expect(try must("\"$A\" ls -le \"$M\"/mine | grep -c 'bob deny read'") == "1")
    }

    // MARK: Copy and remap

    @Test func metadataIsCopiedAndRemapped() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir -p from/d to/d; touch from/d/f to/d/f from/more to/own; chown -R 501:20 from; chmod 4755 from/d/f
            "$A" chmod +a 'bob deny write' from/d/f; "$A" chflags uchg from/d/f
            """#)
        let copied = try shell("cd \"$M\" && \"$A\" acl copy --set-id --undo-file ../undo from to")
        #expect(
            copied.status == 1 && copied.output.contains("to/more: No such file") && copied.output.contains("changed 3 objects"),
            "\(copied)")
        #expect(
            try must("cd \"$M\" && \"$A\" acl diff from to; \"$A\" acl diff from/d to/d")
                == "only in from: more (file)\nonly in to: own (file)")
        #expect(try shell("\"$A\" restore undo").status == 0)
        #expect(try must("cd \"$M\" && stat -c '%U %a' to/d/f; \"$A\" ls -lO to/d | grep -c uchg || :") == "root 644\n0")

        _ = try must("cd \"$M\" && \"$A\" chflags nouchg from/d/f && \"$A\" chmod +a 'alice allow read' from/d/f")
        let remapped = try shell("\"$A\" acl remap --undo-file undo2 alice carol \"$M\"/from")
        #expect(remapped.status == 0 && remapped.output == "changed 4 objects", "\(remapped)")
        let rows = try must("cd \"$M\" && stat -c '%n %U %a' from from/d from/d/f && \"$A\" ls -le from/d")
        #expect(rows.contains("from carol 755") && rows.contains("from/d/f carol 755") && rows.contains("user:carol allow read"), "\(rows)")
        #expect(!rows.contains("alice") && rows.contains("user:bob deny write"))
        #expect(try shell("\"$A\" restore --force undo2").status == 0)
        #expect(try must("cd \"$M\" && stat -c '%U %a' from/d/f") == "alice 4755")
        for (words, reason) in [
            ("alice staff", "must both be users"), ("501 carol", "is ambiguous"), ("robert carol", "no user or group 'robert'"),
            ("alice user:#501", "are the same"), ("everyone carol", "neither a user"),
        ] {
            let run = try shell("\"$A\" acl remap \(words) \"$M\"")
            #expect(run.status == 2 && run.output.contains(reason), "\(words): \(run)")
        }
    }

    /// Entries that an export or another tree inherited are those of another place (docs/reference/authorization.md Q25).
    @Test func aProtectedObjectGetsNoInheritedEntry() throws {
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir -p from/d to/d; chown -R 501:20 from to
            "$A" chmod +a 'bob deny write' from/d; "$A" chmod +ai 'group:staff allow read' from/d
            echo '!#acl 1 no_inherit' | "$A" chmod -E to/d; "$A" acl export from >../export
            """#)
        for command in ["acl copy from to", "acl import ../export to"] {
            let run = try shell("cd \"$M\" && \"$A\" \(command)")
            #expect(run.status == 1 && run.output.contains("to/d: its list carries no_inherit: it keeps the mark"), "\(run)")
            let list = try must("cd \"$M\" && \"$A\" ls -led to/d | tail -n +2")
            let lines: [String] = list.split(separator: "\n").map { String($0.drop { $0 == " " }) }
            #expect(lines == ["!#acl 1 no_inherit", "0: user:bob deny add_file"], "\(command): \(list)")
        }
        // A mark that the other tree states is copied as any list.
        _ = try must("cd \"$M\" && \"$A\" acl copy to from && \"$A\" acl diff from to")
    }

    // MARK: From a Mac

    @Test func whatAMacMadeIsRead() throws {
        // The rows of aclfs ls are those of a Mac.
        _ = try must(
            #"""
            set -e; cd "$M"; mkdir -p d/e; touch d/f d/e/g; ln -s d l; chown -hR 501:20 .; chmod 2750 d; chmod 600 d/e/g
            "$A" chmod +a 'bob deny write' d/f; "$A" chmod +a 'everyone deny delete,file_inherit' d; "$A" chflags uchg,hidden d/e/g
            "$A" ls -leRO . >../listing
            """#)
        let same = try shell("\"$A\" acl diff listing \"$M\"")
        #expect(same.status == 0 && same.output.isEmpty, "\(same)")
        _ = try must("\"$A\" chmod +a 'carol allow read' \"$M\"/d/f")
        let differs = try shell("\"$A\" acl diff listing \"$M\"")
        #expect(differs.output.contains("d/f\n   user:bob deny write\n  +user:carol allow read"), "\(differs)")
        let converted = try shell(
            "\"$A\" acl export --from-mac listing >converted && \"$A\" acl import converted \"$M\" && \"$A\" ls -le \"$M\"/d")
        #expect(
            converted.status == 0 && converted.output.contains("changed 1 object") && !converted.output.contains("carol"), "\(converted)")
        // Names without an account here have an identity in no table but that of the comparison.
        _ = try must(
            #"""
            row='-rw-r--r--+ 1 bob  staff  - 4 Nov 26 10:00 f\n 0: user:alice allow read\n 1: user:_one allow write\n'
            printf "total 8\n$row" >names; printf "total 8\n$row 2: user:_two allow write\n" >more
            """#)
        let names = try shell("\"$A\" acl diff names more")
        #expect(
            names.status == 1 && names.output == "f\n   user:alice allow read\n   user:_one allow write\n  +user:_two allow write",
            "\(names)")
        let bad = try shell("printf 'drwxr-xr-x  2 alice  staff  - 64 Nov 26 10:00 what?\\n' | \"$A\" acl export --from-mac -")
        #expect(bad.status == 1 && bad.output.contains("line 1: 'what?' may have other characters"), "\(bad)")

        let corpus = Repository.top.appendingPathComponent("Tests/FuzzTests/Corpus/apple-double").path
        _ = try must(
            """
            mkdir mac mac/d && touch mac/a mac/d/b && cp '\(corpus)/security' mac/._a && cp '\(corpus)/several' mac/d/._b
            head -c 100 mac/._a >mac/._cut && cp mac/._a mac/._none
            """
        )
        let lists = try shell("\"$A\" acl export --sorted --from-mac mac")
        #expect(lists.status == 1, "\(lists)")
        for line in [
            "# file: a\n# kind: file\nFFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5 allow read\ngroup:everyone inherited deny delete",
            "# file: d/b\n# kind: file\nuser:alice allow read", "._cut: ", "._none: there is no object with this name", "# end: 2",
        ] { #expect(lists.output.contains(line), "\(line) is not in \(lists)") }
    }
}
