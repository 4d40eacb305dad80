import ACLFormats
import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs preset`: what each prints is what the owner, members and others can do (docs/guide/presets.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PresetTests {
    private let tree: TreeFixture
    private static let alice = TestUser(uid: 501, gid: 30, groups: [30])
    private static let bob = TestUser(uid: 502, gid: 20, groups: [20])
    private static let dave = TestUser(uid: 504, gid: 20, groups: [20])
    private static let carol = TestUser(uid: 503, gid: 30, groups: [30])
    private static let names = ["drop-box", "append-only", "no-delete", "team-share", "read-only", "public"]

    init() throws { tree = try TreeFixture(options: "") }

    /// A command for each act; it ends with 0 if the act is done. `$F` is a file of another member, `$N` a new name.
    private static let acts = [
        ("list the folder", "ls . >/dev/null"), ("add a file", "printf x >$N"), ("add a folder", "mkdir $N"),
        ("read a member's file", "cat $F >/dev/null"), ("change it", "dd if=/dev/zero of=$F bs=1 count=1 conv=notrunc status=none"),
        ("add to it", "printf x >>$F"), ("rename it", "mv -n $F $N && test ! -e $F"), ("remove it", "rm -f $F"),
        ("read a file of one's own", "printf x >$N && cat $N >/dev/null"),
        ("change it (own)", "printf x >$N && dd if=/dev/zero of=$N bs=1 count=1 conv=notrunc status=none"),
        ("remove it (own)", "printf x >$N && rm -f $N"),
    ]
    @Test(arguments: names)
    func whatItPrintsIsSo(_ preset: String) throws {
        let folder = tree.fixture.path("folder")
        try tree.shell("mkdir folder; chown 501:20 folder; touch folder/old; mkdir folder/sub; chmod 755 .")
        let apply = try tree.aclfs(as: Self.alice, "preset", "apply", "--undo-file", "/tmp/none/x", preset, folder)
        #expect(apply.status == 2, "\(apply)")
        let before = try tree.snapshot()
        let run = try Spawn.run(
            tree.within + [
                "env", "HOME=\(tree.fixture.top)", MountTesting.program("aclfs"), "preset", "apply", "--offline", preset, folder,
            ])
        #expect(run.status == 0 && run.output.hasPrefix("changed "), "\(run)")
        let shown = try tree.aclfs("preset", "show", "--json", preset, folder)
        let can = try #require(try JSONText.parse(Array(shown.output.utf8))["can"], "\(shown)")
        for (person, user) in [("owner", Self.alice), ("member", Self.bob), ("other", Self.carol)] {
            for (number, (act, command)) in Self.acts.enumerated() {
                let name = "\(person)\(number)"
                // By another member, as far as the preset lets him; then it is root's act in his name.
                let made = try Spawn.run(
                    tree.within + Self.dave.arguments + ["--", "sh", "-c", "cd '\(folder)' 2>/dev/null && printf x >f\(name)"])
                if made.status != 0 {
                    try tree.shell("touch folder/f\(name); chown 504 folder/f\(name)")
                }
                let script = "cd '\(folder)' && umask 022 && F=f\(name) N=n\(name) && { \(command); } 2>/dev/null"
                let done = try Spawn.run(tree.within + user.arguments + ["--", "sh", "-c", script]).status == 0
                #expect(can[person]?[act]?.bool == done, "\(preset): \(person), \(act): done \(done)")
                try tree.shell("cd folder && rm -rf f\(name) n\(name)")
            }
        }
        let undone = try tree.aclfs("preset", "undo", folder)
        #expect(undone.status == 0 && undone.output.hasPrefix("restored "), "\(undone)")
        #expect(try tree.snapshot() == before)
        let again = try tree.aclfs("preset", "undo", folder)
        #expect(again.status == 2 && again.output.contains("this user has no preset to undo"), "\(again)")
    }

    /// The promises in words, independent of what the command computes.
    @Test func thePromisesHold() throws {
        func can(_ preset: String) throws -> JSON {
            try tree.shell("rm -rf folder; mkdir folder; chown 501:20 folder")
            let shown = try tree.aclfs("preset", "show", "--json", preset, tree.fixture.path("folder"))
            return try #require(try JSONText.parse(Array(shown.output.utf8))["can"], "\(shown)")
        }
        func expect(_ preset: String, _ person: String, can yes: [String], cannot no: [String]) throws {
            let answers = try #require(try can(preset)[person])
            for act in yes { #expect(answers[act]?.bool == true, "\(preset): \(person) can \(act)") }
            for act in no { #expect(answers[act]?.bool == false, "\(preset): \(person) cannot \(act)") }
        }
        let reading = ["list the folder", "read a member's file"]
        let writing = ["add a file", "change it"]
        let removing = ["rename it", "remove it"]
        try expect("drop-box", "other", can: ["add a file"], cannot: reading + removing + ["change it", "read a file of one's own"])
        try expect("drop-box", "owner", can: reading + ["remove it"], cannot: [])
        try expect(
            "append-only", "member", can: reading + ["add a file", "add to it"], cannot: removing + ["change it", "remove it (own)"])
        try expect("append-only", "other", can: [], cannot: reading + writing)
        try expect("no-delete", "member", can: reading + writing, cannot: removing + ["remove it (own)"])
        try expect("no-delete", "owner", can: reading + writing + removing, cannot: [])
        try expect("team-share", "member", can: reading + writing + removing, cannot: [])
        try expect("team-share", "other", can: [], cannot: reading + writing + removing)
        try expect("read-only", "member", can: reading, cannot: writing + removing)
        try expect("read-only", "owner", can: reading + writing + removing, cannot: [])
        try expect("public", "other", can: reading, cannot: writing + removing)
        try expect("public", "member", can: reading + writing + removing, cannot: [])
    }

    /// A folder with a preset inside of another is what its preset says, whichever came first and whatever is propagated from above.
    @Test(arguments: [("drop-box", "team-share"), ("drop-box", "public"), ("no-delete", "team-share"), ("team-share", "public")])
    func eachFolderKeepsItsPromise(_ inner: String, within outer: String) throws {
        let (above, below) = (tree.fixture.path("team"), tree.fixture.path("team/inside"))
        func apply(_ preset: String, _ folder: String) throws -> CommandResult {
            try Spawn.run(
                tree.within + ["env", "HOME=\(tree.fixture.top)", MountTesting.program("aclfs"), "preset", "apply", preset, folder])
        }
        func can() throws -> [String] {
            try tree.shell("touch team/inside/f; chown 504 team/inside/f; chmod 644 team/inside/f; aclfs inherit team/inside/f >/dev/null")
            defer { _ = try? tree.shell("rm -rf team/inside/*") }
            return try Self.acts.enumerated().map { number, act in
                let script = "cd '\(below)' && umask 022 && F=f N=n\(number) && { \(act.1); } 2>/dev/null"
                return try Spawn.run(tree.within + Self.bob.arguments + ["--", "sh", "-c", script]).status == 0 ? act.0 : "not \(act.0)"
            }
        }
        try tree.shell("mkdir -p team/inside; chown 501:20 team team/inside; chmod 755 .")
        #expect(try apply(inner, below).status == 0)
        try tree.shell("aclfs chmod +a 'user:502 allow search' team; chmod 711 team")
        let alone = try can()
        let after = try apply(outer, above)
        #expect(after.status == 0 && after.output.contains("warning: \(below) keeps its own entries: it carries no_inherit"), "\(after)")
        #expect(try can() == alone)
        #expect(try tree.aclfs("propagate", above).status == 0)
        #expect(try can() == alone)
        // The other way round: what it inherited goes, and is named.
        try tree.shell("rm -rf team/inside; mkdir team/inside; chown 501:20 team/inside")
        let inherits = try apply(inner, below)
        #expect(inherits.status == 0 && inherits.output.contains("\(below) no longer inherits "), "\(inherits)")
        #expect(try can() == alone)
    }

    /// A user keeps his own undo files, and a drop box may be for one group.
    @Test func anOrdinaryUserAppliesAndUndoes() throws {
        let folder = tree.fixture.path("folder")
        try tree.shell("mkdir folder home; chown 501:30 folder home; chmod 755 .")
        func aclfs(_ words: String...) throws -> CommandResult {
            try Spawn.run(
                tree.within + Self.alice.arguments + [
                    "--", "env", "HOME=\(tree.fixture.path("home"))", MountTesting.program("aclfs"), "preset",
                ]
                    + words)
        }
        let first = try aclfs("apply", "--group", "20", "drop-box", folder)
        #expect(first.status == 0 && first.output.contains(" 2: ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014 allow add_file,search"), "\(first)")
        let second = try aclfs("apply", "team-share", folder)
        #expect(second.status == 0, "\(second)")
        // What changes nothing leaves nothing to undo.
        let same = try aclfs("apply", "team-share", folder)
        #expect(same.status == 0 && same.output.hasPrefix("changed 0 objects"), "\(same)")
        #expect(try tree.shell("ls home/.local/state/aclfs/presets | wc -l").output == "2")
        #expect(try aclfs("undo", folder).status == 0)
        #expect(try tree.shell("aclfs ls -led folder").output.contains("everyone deny"))
        #expect(try aclfs("undo", folder).status == 0)
        #expect(try tree.shell("aclfs ls -led folder").output.contains("drwxr-xr-x "))
        #expect(try aclfs("undo", folder).status == 2)
    }

    /// Where entries or owners do not count a preset would only close the folder, or protect nothing.
    @Test(arguments: ["noacl", "noowners"])
    func aMountThatIgnoresThemHasNoPresets(_ option: String) throws {
        try tree.shell("mkdir folder; chown 501:30 folder; chmod 755 .")
        let before = try tree.snapshot()
        try tree.fixture.unmount()
        try tree.fixture.mount(option)
        let folder = tree.fixture.path("folder")
        for words in [["apply", "team-share", folder], ["apply", "--dry-run", "public", folder], ["show", "drop-box", folder]] {
            for user in [TestUser.root, Self.alice] {
                let run = try Spawn.run(
                    tree.within + user.arguments + [
                        "--", "env", "HOME=\(tree.fixture.top)", MountTesting.program("aclfs"), "preset",
                    ] + words)
                #expect(run.status == 2 && run.output.contains("lies on a mount with \(option), where a preset"), "\(words): \(run)")
            }
        }
        #expect(try tree.snapshot() == before)
        let explained = try tree.aclfs(as: Self.carol, "explain", "list", folder)
        #expect(explained.output.contains("note: noacl: no entry counts on this mount") == (option == "noacl"), "\(explained)")
    }

    /// What a preset would let people do is not said of a folder that did not get it.
    @Test func aRefusedPresetPromisesNothing() throws {
        try tree.shell("mkdir folder; chown 501:30 folder; chmod 755 . folder; touch folder/file; aclfs chflags uchg folder/file")
        let folder = tree.fixture.path("folder")
        try tree.shell("mkdir home; chown 503 home")
        let stranger = try tree.aclfs(as: Self.carol, "preset", "apply", "--undo-file", tree.fixture.path("home/undo"), "public", folder)
        #expect(stranger.status == 1 && stranger.output.contains("folder: Operation not permitted"), "\(stranger)")
        #expect(stranger.output.contains("changed 0 objects, left ") && !stranger.output.contains("public: "), "\(stranger)")
        // The folder has it, and one file in it stays.
        let owner = try tree.aclfs("preset", "apply", "--undo-file", tree.undo, "public", folder)
        #expect(owner.status == 1 && owner.output.contains("left 1 unchanged\npublic: "), "\(owner)")
    }

    @Test func wrongWordsSayWhatIsRight() throws {
        try tree.shell("mkdir folder; touch file")
        let folder = tree.fixture.path("folder")
        for (words, message) in [
            (["apply", "teamshare", folder], "did you mean 'team-share'?"),
            (["apply", "--group", "nosuchgroup", "public", folder], "there is no group"),
            (["apply", "public", tree.fixture.path("file")], "Not a directory"), (["aply"], "did you mean 'apply'?"),
        ] {
            let run = try tree.aclfs(["preset"] + words)
            #expect(run.status == 2 && run.output.contains(message), "\(words): \(run)")
        }
        #expect(try tree.aclfs("preset", "show").output.hasPrefix("drop-box: "))
        let all = try JSONText.parse(Array(try tree.aclfs("preset", "show", "--json").output.utf8))
        #expect(all.array?.first?["preset"]?.string == "drop-box" && all.array?.count == 6, "\(all)")
        let one = try JSONText.parse(Array(try tree.aclfs("preset", "show", "--json", "public", tree.fixture.mountpoint).output.utf8))
        #expect(one["entries"]?.array?.last?.string?.hasPrefix("group:everyone allow list,search,") == true, "\(one)")
    }
}
