import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs propagate` and `aclfs inherit` on a mount and on a backing directory (docs/guide/administration.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct PropagateTests {
    private let tree: TreeFixture
    init() throws { tree = try TreeFixture() }

    // MARK: The guide's figures

    /// B-1 and B-2 through the commands: five states of eight items.
    @Test(arguments: TreeFixture.Place.allCases)
    func theFigures(_ place: TreeFixture.Place) throws {
        let figure = try VectorFiles.vectors().treeVectors
        let letters = ["A": 501, "B": 502, "C": 503]
        func path(_ name: String) -> String {
            guard let item = figure.tree.first(where: { $0.name == name }), let parent = item.parent else { return name }
            return path(parent) + "/" + name
        }
        var mount: String { tree.fixture.mountpoint }
        _ = try tree.go(to: .mount)
        for item in figure.tree {
            #expect(try tree.shell("\(item.type == "dir" ? "mkdir" : "touch") '\(path(item.name))'").status == 0)
        }
        func change(_ verb: String, _ letter: String, _ name: String) throws {
            _ = try tree.go(to: .mount)
            let entry = "user:\(letters[letter] ?? 0) allow read,file_inherit,directory_inherit"
            #expect(try tree.aclfs("chmod", verb, entry, "\(mount)/\(path(name))").status == 0)
        }
        func propagate(_ name: String) throws {
            let top = try tree.go(to: place)
            let result = try tree.aclfs("propagate", "\(top)/\(path(name))")
            #expect(result.status == 0 && result.output.hasPrefix("changed "), "\(result)")
        }
        for step in figure.steps {
            switch step.step {
            case 0:
                try change("+a", "A", "Directory 0")
                try propagate("Directory 0")
            case 1: try change("+a", "C", "Subdirectory 2")
            case 2: try propagate("Subdirectory 2")
            case 3:
                try change("-a", "A", "Directory 0")
                try change("+a", "B", "Directory 0")
            default: try propagate("Directory 0")
            }
            _ = try tree.go(to: .mount)
            for item in figure.tree {
                let text = try tree.shell("getfattr -h --only-values -n system.aclfs.acl '\(path(item.name))' 2>/dev/null").output
                let found = text.split(separator: "\n").map { line in
                    let letter = letters.first { line.contains(String($0.value, radix: 16, uppercase: true)) }?.key ?? "?"
                    return line.contains(" inherited") ? letter.lowercased() : letter
                }
                // The figure's file 1 shows a misprint in step 3 (docs/reference/authorization.md 5.7); the vectors have it right. A list in canonical
                // order has the explicit entry first.
                #expect(found.sorted() == (step.state[item.name] ?? []).sorted(), "\(item.name), step \(step.step): \(text)")
            }
        }
    }

    // MARK: Lists that carry no_inherit

    /// What Samba stores for "Disable inheritance". Below it the walk goes on with the list that is there.
    @Test(arguments: TreeFixture.Place.allCases)
    func aProtectedFolderStaysClosed(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        let made = try tree.shell(
            """
            mkdir -p d/private/sub d/open; touch d/file d/private/in d/private/sub/deep d/open/in
            aclfs chmod +a 'user:501 allow read,file_inherit,directory_inherit' d/private
            { echo '!#acl 1 no_inherit'; aclfs ls -led d/private | tail -n 1; } | aclfs chmod -E d/private
            echo '!#acl 1 no_inherit' | aclfs chmod -E d/file
            aclfs chmod +a 'user:502 allow read,file_inherit,directory_inherit' d
            """)
        #expect(made.status == 0, "\(made)")
        func list(_ name: String) throws -> String {
            _ = try tree.go(to: .mount)
            return try tree.shell("getfattr --only-values -n system.aclfs.acl '\(name)' 2>/dev/null").output
        }
        let before = try list("d/private")
        #expect(before.hasPrefix("!#acl 1 no_inherit\n") && before.contains("01F5 allow"), "\(before)")
        for words in [["propagate", "--verbose"], ["propagate"]] {
            let top = try tree.go(to: place)
            let run = try tree.aclfs(words + [top + "/d"])
            #expect(run.status == 0, "\(run)")
            #expect(run.output.contains("aclfs: warning: \(top)/d/private keeps its own entries: it carries no_inherit\n"), "\(run)")
            #expect(try list("d/private") == before)
            // By the request for many files as well.
            #expect(try list("d/file") == "!#acl 1 no_inherit")
            for name in ["d/private/in", "d/private/sub/deep"] {
                let text = try list(name)
                #expect(text.contains("01F5 inherited allow") && !text.contains("01F6"), "\(name): \(text)")
            }
            #expect(try list("d/open/in").contains("01F6 inherited allow"))
            if place == .mount {
                #expect(try tree.shell("aclfs strip --inherited d/private/in; aclfs strip -R d/open").status == 0)
            }
        }
        for name in ["d/private", "d/file"] {
            let own = try list(name)
            let run = try tree.aclfs("inherit", try tree.go(to: place) + "/" + name)
            #expect(run.status == 0 && run.output.contains("keeps its own entries"), "\(run)")
            #expect(try list(name) == own)
        }
    }

    /// The mark is seen wherever the list is, and chmod takes it away again.
    @Test func everyListingShowsTheMark() throws {
        let top = try tree.go(to: .mount)
        try tree.shell("mkdir d d/in; echo '!#acl 1 no_inherit' | aclfs chmod -E d; aclfs chmod +a 'user:501 allow read' d")
        for command in ["aclfs ls -led d", "aclfs acl export d"] {
            let shown = try tree.shell(command)
            #expect(shown.output.contains("!#acl 1 no_inherit\n") || shown.output.contains("!#acl 1 no_inherit\\n"), "\(shown)")
        }
        let note = "no_inherit: the object takes no entry from the directories above"
        #expect(try tree.aclfs("effective", top + "/d").output.contains("note: " + note))
        #expect(try tree.aclfs("effective", "--json", top + "/d").output.contains(note))
        let report = try tree.shell("aclfs report --json .; aclfs report -o ../page d && cat ../page")
        #expect(report.output.contains("\"kind\":\"no_inherit\",\"path\":\"d\"") && report.output.contains("Inherits nothing"), "\(report)")
        #expect(try tree.shell("echo '!#acl 1 no_inherit' | aclfs chmod -E d/in; aclfs ls -led d/in").output.contains("+ 2 "))
        #expect(try tree.shell("aclfs ls -led d | aclfs chmod -E d/in; aclfs ls -led d/in | grep -c .").output == "3")
        #expect(try tree.shell("echo '!#acl 1' | aclfs chmod -E d; getfattr -n system.aclfs.acl d | grep -c no_inherit").output == "0")
    }

    // MARK: Every object, on both places, and back

    private static let some = """
        mkdir -p d/e/f d/g; touch d/1 d/e/2 d/e/f/3 d/g/4 'd/a b'; ln -s nowhere d/link; mkfifo d/g/pipe
        aclfs chmod +a 'user:501 allow read,write,file_inherit,directory_inherit' d
        aclfs chmod +a 'user:502 deny read,file_inherit,limit_inherit,directory_inherit' d
        aclfs chmod +a 'user:503 allow read' d/e/2
        aclfs chmod +ai 'user:504 allow read' d/e/2
        """

    @Test(arguments: TreeFixture.Place.allCases, [1, 4])
    func everyObjectGetsWhatItsDirectoryPassesOn(_ place: TreeFixture.Place, _ workers: Int) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some)
        let before = try tree.snapshot()
        let top = try tree.go(to: place)
        let dry = try tree.aclfs("propagate", "--dry-run", "\(top)/d")
        #expect(dry.status == 0 && dry.output.hasSuffix("would change 9 objects"), "\(dry)")
        #expect(try tree.snapshot() == before)
        let run = try tree.aclfs("propagate", "--workers", "\(workers)", "--undo-file", tree.undo, "\(top)/d")
        #expect(run.status == 0 && run.output == "changed 9 objects", "\(run)")
        #expect(try tree.aclfs("propagate", "\(top)/d").output == "changed 0 objects")
        _ = try tree.go(to: .mount)
        func list(_ name: String) throws -> String {
            try tree.shell("getfattr -h --only-values -n system.aclfs.acl '\(name)' 2>/dev/null").output
        }
        func user(_ uid: Int) -> String { "FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000" + String(uid, radix: 16, uppercase: true) }
        // What a new object gets is what the old one has now.
        try tree.shell("touch d/new d/e/new d/e/f/new; mkdir d/newdir d/e/newdir")
        for (old, new) in [("d/1", "d/new"), ("d/e/f/3", "d/e/f/new"), ("d/g", "d/newdir"), ("d/e/f", "d/e/newdir")] {
            #expect(try list(old) == list(new) && !list(old).isEmpty, "\(old)")
        }
        #expect(try list("d/e/2") == "\(user(503)) allow read\n\(user(501)) inherited allow read,write")
        #expect(try list("d/link") == "")
        try tree.shell("rm -r d/new d/e/new d/e/f/new d/newdir d/e/newdir")
        _ = try tree.go(to: place)
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.status == 0 && restored.output == "restored 9 objects", "\(restored)")
        #expect(try tree.snapshot() == before)
    }

    @Test func oneObjectInherits() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some)
        let result = try tree.shell("aclfs inherit d/e && aclfs inherit d/1 && aclfs inherit d/1; aclfs inherit .; aclfs inherit nothing")
        let top = "aclfs: inherit: . is the top of its file system: there is no directory from which it could inherit"
        #expect(
            result.output
                == "changed 1 object\nchanged 1 object\nchanged 0 objects\n\(top)\naclfs: inherit: nothing: No such file or directory",
            "\(result)")
        #expect(try tree.shell("getfattr --only-values -n system.aclfs.acl d/e/f").status != 0)
        let backing = try tree.go(to: .backing)
        #expect(try tree.shell("aclfs inherit d/e/f; aclfs inherit d/e/f/3", in: backing).output == "changed 1 object\nchanged 1 object")
        // Through a link, whose target decides.
        #expect(try tree.shell("ln -s '\(backing)/d/g' ../g; aclfs inherit ../g", in: backing).output == "changed 1 object")
    }

    // MARK: Others

    /// The rights of the caller count for each object, and the rest goes on.
    @Test func anOrdinaryUserChangesWhatHeMay() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some + "\nchown -R 505:20 d; chown 0 d/e; mkdir d/closed; touch d/closed/in; chmod 700 d/closed")
        let user = TestUser(uid: 505, gid: 20, groups: [20])
        let top = tree.fixture.mountpoint
        let run = try tree.aclfs(as: user, "propagate", "--undo-file", "/dev/null", "\(top)/d")
        #expect(run.status == 2 && run.output.contains("/dev/null: exists already"), "\(run)")
        let done = try tree.aclfs(as: user, "propagate", "\(top)/d")
        // The directory keeps its list, which passes nothing on.
        #expect(done.status == 1, "\(done)")
        #expect(done.output.contains("d/e: Operation not permitted: writesecurity is denied: no entry grants it"), "\(done)")
        #expect(done.output.contains("d/closed: Permission denied"), "\(done)")
        #expect(try tree.shell("getfattr --only-values -n system.aclfs.acl d/g/4").status == 0)
        #expect(try tree.shell("getfattr --only-values -n system.aclfs.acl d/e/f").status != 0)
    }

    @Test func objectsWithNamesElsewhereStay() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some + "\ntouch outside; ln outside d/in; ln d/1 d/one")
        let run = try tree.shell("aclfs propagate d")
        #expect(
            run.status == 1
                && run.output.contains("aclfs: d/in: has 2 hard links, 1 of them below the directory; --hard-links includes it"), "\(run)")
        #expect(run.output.hasSuffix("changed 9 objects, left 1 unchanged"), "\(run)")
        #expect(try tree.shell("aclfs propagate --hard-links d").output == "changed 1 object")
    }

    @Test func wrongUseSaysWhatIsRight() throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.some)
        let top = tree.fixture.mountpoint
        for (words, message) in [
            (["propagate", "\(top)/d/1"], "Not a directory"),
            (["propagate", "--workers", "0", "\(top)/d"], "--workers: 0 is not a number"),
            (["propagate", "--dry-run", "--undo-file", tree.undo, "\(top)/d"], "--dry-run changes nothing"),
            (["propagate", "--resume", "\(top)/d"], "--resume continues an undo file"),
            (["propagate", "--metadata", "user", "\(top)/d"], "--metadata is for a backing directory"),
            (["propagate", "\(tree.backing)/d"], "it is mounted at \(top); unmount it first"), (["propagate"], "Missing expected argument"),
            (["propagate", "--offline", "/proc"], "does not store"), (["strip", "\(tree.fixture.top)/missing"], "No such file"),
        ] {
            let run = try tree.aclfs(words)
            #expect(run.status == 2 && run.output.contains(message), "\(words): \(run)")
        }
    }
}
