import Glibc
import TestSupport
import Testing

/// docs/guide/backup.md "Layouts": a directory declares what a confined mount knows from its profile.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackupLayoutTests {
    private static let attribute = "user.backup.layout"
    private static let program = MountTesting.program("aclfs")

    private static func aclfs(_ words: String...) throws -> CommandResult { try Spawn.run([program] + words) }

    /// What each object of a container answers, seen through a mount: the flag, and whether it has a key. A confined mount leaves out
    /// what it allows nothing on.
    private static func answers(_ container: String) throws -> [String: String] {
        let result = try Spawn.run(["sh", "-c", "cd \"$1\" && find . | sort", "sh", container])
        var answers: [String: String] = [:]
        let root = try ActingProcess(.root)
        for path in result.output.split(separator: "\n") {
            let flags = try root.call("getxattr", "\(container)/\(path)", "system.aclfs.flags")
            guard flags.isOK else { continue }
            answers[String(path)] = "\(flags.value) \(try root.call("getxattr", "\(container)/\(path)", "com.apple.MobileBackup").word)"
        }
        return answers
    }

    /// The same container, seen through a confined mount, through one without a profile, and offline.
    @Test(arguments: ["macos", "ios"]) func theAnswersOfAConfinedMount(_ layout: String) throws {
        let sandbox = try SandboxFixture(layout: layout, unconfined: true)
        let word = layout == "ios" ? "ios" : "container"
        let there = sandbox.there(sandbox.data)
        let confined = try Self.answers(sandbox.path(sandbox.data))
        #expect(try Self.answers(there).values.allSatisfy { $0 == "- ENODATA" })
        #expect(try Self.aclfs("backup", "layout", word, there).status == 0)
        let declared = try Self.answers(there)
        #expect(confined.values.contains("nodump ENODATA") && confined.count >= 40)
        for (path, answer) in confined { #expect(declared[path] == answer, "\(path)") }
        // The confined mount allows nothing on these.
        for (path, answer) in declared where confined[path] == nil { #expect(answer == "nodump ENODATA", "\(path)") }
        #expect(layout == "macos" || declared["./other/file"] == "nodump ENODATA")
        // Offline, the list of what a backup leaves out is the same.
        func listed(_ words: String...) throws -> [Substring] {
            let result = try Spawn.run([Self.program, "backup", "list"] + words)
            #expect(result.status == 0, "\(result)")
            return result.output.split(separator: "\n").map { $0.split(separator: "/Users/ann/").last ?? "" }.sorted()
        }
        let places = ["Library/Caches", "tmp"] + (layout == "ios" ? ["other"] : ["Tool.app"])
        let skipped = sandbox.data.utf8.count + 1 - "Users/ann/".utf8.count
        #expect(try listed(there).map { $0.dropFirst(skipped) }.sorted() == places.map { $0[...] }.sorted())
        #expect(try listed("--offline", sandbox.behind(sandbox.data)) == listed(there))
        #expect(try listed("--offline", sandbox.behind("Users")) == listed(sandbox.there("Users")))
    }

    @Test func eachFormatAndProgramObeysIt() throws {
        let fixture = try MountFixture()
        let made = try Spawn.run(
            [
                "sh", "-ec",
                """
                cd "$1"; mkdir -p app/Documents app/Library/Caches app/tmp app/Own 'app/A b.app'
                for d in Documents Library Library/Caches tmp Own 'A b.app'; do echo x >"app/$d/file"; done; echo x >app/stray
                "$2" backup layout ios app
                """, "sh", fixture.mountpoint, Self.program,
            ])
        #expect(made.status == 0, "\(made)")
        let left = ["A b.app", "Library/Caches", "Own", "stray", "tmp"]
        let top = fixture.path("app")
        for (format, shown) in [
            ("lines", { "\(top)/\($0)" }), ("rsync", { "/\($0)" }), ("restic", { "\(top)/\($0)" }),
            ("borg", { "pf:\(top.dropFirst())/\($0)" }),
        ] as [(String, (String) -> String)] {
            let result = try Self.aclfs("backup", "list", "--format=\(format)", top)
            let lines = result.output.split(separator: "\n").map(String.init)
            func isListed(_ path: String) -> Bool { lines.contains { $0.hasSuffix(shown(path)) || $0.hasSuffix(shown(path) + "/") } }
            #expect(result.status == 0 && left.allSatisfy(isListed), "\(result)")
            #expect(!result.output.contains("Documents"))
        }
        // A program that reads the flag.
        if isInstalled("bsdtar") {
            let packed = try Spawn.run(["sh", "-c", "bsdtar --nodump -c -f - -C \"$1\" . | bsdtar -t -f - | sort", "sh", top])
            #expect(packed.output == "./\n./Documents/\n./Documents/file\n./Library/\n./Library/file")
        }
        let copied = try Spawn.run(
            [
                "sh", "-ec",
                """
                "$2" backup list -0 --format=rsync "$1" >"$3.list"; mkdir "$3"
                rsync -aX --from0 --exclude-from="$3.list" "$1/" "$3/"; cd "$3"; find . | sort
                getfattr --only-values -n user.backup.layout .
                """, "sh", top, Self.program, fixture.top + "/copy",
            ])
        #expect(copied.output == ".\n./Documents\n./Documents/file\n./Library\n./Library/file\nios", "\(copied)")
        // Copied back, it is declared there.
        try Spawn.run(["cp", "-a", fixture.top + "/copy", fixture.path("again")]).check()
        try Spawn.run(["mkdir", fixture.path("again/tmp")]).check()
        let again = try Self.aclfs("backup", "status", fixture.path("again/tmp")).output
        #expect(again.contains("excluded by the layout ios of \(fixture.path("again"))"))
    }

    @Test func whoMayDeclareItAndWhoSeesIt() throws {
        let fixture = try MountFixture()
        let (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
        try root.must("chmod", fixture.mountpoint, "0777")
        let directory = fixture.path("app")
        try alice.must("mkdir", directory, "0755")
        try alice.must("mkdir", directory + "/tmp", "0755")
        try alice.must("create", directory + "/file", "0644", "0")
        // As any attribute: by writeextattr, and for everybody who may read attributes.
        #expect(try bob.call("setxattr", directory, Self.attribute, "ios").word == "EACCES")
        #expect(try TestUser.bob.run(Self.program, "backup", "layout", "ios", directory).output.contains("Permission denied: writeextattr"))
        try alice.must("setxattr", directory, "backup.layout", "ios")
        #expect(try bob.must("getxattr", directory, Self.attribute) == "ios")
        #expect(try root.must("getxattr", fixture.backing + "/app", Self.attribute) == "ios")
        #expect(try bob.must("listxattr", directory) == Self.attribute + "\\x00")
        #expect(try bob.must("getxattr", directory + "/tmp", "system.aclfs.flags") == "nodump")
        try alice.must("setxattr", directory, "system.aclfs.acl", "user:#502 allow writeextattr\nuser:#503 deny readextattr")
        try bob.must("setxattr", directory, Self.attribute, "container")
        #expect(try ActingProcess(.carol).call("getxattr", directory, Self.attribute).word == "EACCES")
        // Without the right the reason stays unknown, and the answer is the same.
        func status(as user: TestUser) throws -> String { try user.run(Self.program, "backup", "status", directory + "/tmp").output }
        #expect(try status(as: .carol).contains("excluded by the layout of its container"))
        #expect(try status(as: .bob).contains("by the layout container of \(directory)\n"))
        for value in ["iOS", "", "ios\n", "macos", "none"] {
            #expect(try alice.call("setxattr", directory, Self.attribute, value).word == "EINVAL", "\(value)")
        }
        #expect(try alice.call("setxattr", directory + "/file", Self.attribute, "ios").word == "EINVAL")
        #expect(try alice.must("getxattr", directory, Self.attribute) == "container")
        let onFile = try TestUser.alice.run(Self.program, "backup", "layout", "ios", directory + "/file")
        #expect(onFile.output == "aclfs: \(directory)/file: Not a directory")
        // Written to the backing directory by another program: a word that is not known excludes nothing, and status says so.
        try root.must("setxattr", fixture.backing + "/app", Self.attribute, "watchos")
        #expect(eventually { (try? alice.must("getxattr", directory + "/tmp", "system.aclfs.flags")) == "-" })
        #expect(try Self.aclfs("backup", "status", directory).output.contains("an unknown layout, which excludes nothing: watchos"))
        try alice.must("setxattr", directory, Self.attribute, "ios")
        try TestUser.alice.run(Self.program, "backup", "layout", "none", directory).check()
        #expect(try alice.call("getxattr", directory, Self.attribute).word == "ENODATA")
        #expect(try alice.must("getxattr", directory + "/tmp", "system.aclfs.flags") == "-")
    }

    @Test func objectsMoveAndGetMarks() throws {
        let fixture = try MountFixture()
        let alice = try ActingProcess(.alice)
        try ActingProcess(.root).must("chmod", fixture.mountpoint, "0777")
        func excluded(_ name: String) throws -> Bool {
            let flags = try alice.must("getxattr", fixture.path(name), "system.aclfs.flags").contains("nodump")
            let listed = try TestUser.alice.shell("lsattr -d '\(fixture.path(name))'").output.prefix(20).contains("d")
            #expect(flags == listed)
            return flags
        }
        for name in ["app", "app/tmp", "app/Documents"] { try alice.must("mkdir", fixture.path(name), "0755") }
        for name in ["app/tmp/f", "app/tmp/g", "out"] { try alice.must("create", fixture.path(name), "0644", "0") }
        try alice.must("setxattr", fixture.path("app"), Self.attribute, "container")
        #expect(try excluded("app/tmp") && excluded("app/tmp/f") && !excluded("app/Documents") && !excluded("app") && !excluded("out"))
        // A change of another flag sends this one along, and stores nothing of it.
        try alice.must("setxattr", fixture.path("app/tmp/f"), "system.aclfs.flags", "nodump,hidden")
        #expect(try alice.must("getxattr", fixture.path("app/tmp/f"), "system.aclfs.flags") == "nodump,hidden")
        try alice.must("rename", fixture.path("app/tmp/f"), fixture.path("app/Documents/f"))
        #expect(try alice.must("getxattr", fixture.path("app/Documents/f"), "system.aclfs.flags") == "hidden")
        try alice.must("rename", fixture.path("out"), fixture.path("app/tmp/out"))
        #expect(try excluded("app/tmp/out"))
        // Including does nothing against a layout, and says so; excluding gives it a mark of its own.
        let included = try TestUser.alice.run(Self.program, "backup", "include", fixture.path("app/tmp/out"))
        #expect(included.status == 1, "\(included)")
        #expect(included.output.contains("still excluded by the layout container of \(fixture.path("app"))"), "\(included)")
        try TestUser.alice.run(Self.program, "backup", "exclude", fixture.path("app/tmp/out")).check()
        try alice.must("rename", fixture.path("app/tmp/out"), fixture.path("out"))
        #expect(try excluded("out"))
        // The directory moves with all in it, and takes its layout along.
        try alice.must("rename", fixture.path("app"), fixture.path("moved"))
        #expect(try excluded("moved/tmp/g") && excluded("moved/tmp"))
        try alice.must("rename", fixture.path("moved/tmp"), fixture.path("moved/Documents/tmp"))
        #expect(try !excluded("moved/Documents/tmp/g"))
        // Of two directories that declare one, either excludes.
        try alice.must("setxattr", fixture.path("moved/Documents"), Self.attribute, "container")
        #expect(try excluded("moved/Documents/tmp/g"))
        try alice.must("mkdir", fixture.path("moved/tmp"), "0755")
        try alice.must("mkdir", fixture.path("moved/tmp/inner"), "0755")
        try alice.must("setxattr", fixture.path("moved/tmp/inner"), Self.attribute, "ios")
        try alice.must("mkdir", fixture.path("moved/tmp/inner/Documents"), "0755")
        #expect(try excluded("moved/tmp/inner/Documents"))
        // A file with several names is in the backup under the others: only its directory excludes it.
        try alice.must("link", fixture.path("moved/Documents/tmp/g"), fixture.path("moved/Documents/g"))
        #expect(try !excluded("moved/Documents/tmp/g") && !excluded("moved/Documents/g"))
        let status = try TestUser.alice.run(Self.program, "backup", "status", fixture.path("moved/Documents/tmp/g")).output
        #expect(status.hasPrefix("[Excluded]") && status.contains("excluded by its parent \(fixture.path("moved/Documents/tmp"))\n"))
    }

    /// What the record, each key and a layout exclude is read without a daemon, as root.
    @Test func offline() throws {
        let fixture = try MountFixture()
        let made = try Spawn.run(
            [
                "sh", "-ec",
                """
                cd "$1"; mkdir -p app/tmp app/Documents app/Library/Caches; touch flag key plain app/tmp/f app/Documents/f
                ln -s x link; mkfifo fifo
                "$2" chflags nodump flag; "$2" backup exclude key link fifo; "$2" backup layout ios app
                """, "sh", fixture.mountpoint, Self.program,
            ])
        #expect(made.status == 0, "\(made)")
        func list(_ directory: String, _ option: String) throws -> String {
            try Spawn.run(["sh", "-c", "cd \"$1\" && \"$2\" backup list $3 . | sort", "sh", directory, Self.program, option]).output
        }
        let mounted = try list(fixture.mountpoint, "")
        #expect(mounted == "./app/Library/Caches\n./app/tmp\n./fifo\n./flag\n./key\n./link")
        #expect(try list(fixture.backing, "--offline") == mounted)
        try fixture.unmount()
        #expect(try list(fixture.backing, "--offline") == mounted)
        let status = try Self.aclfs("backup", "status", "--offline", fixture.backing + "/app/tmp/f", fixture.backing + "/plain")
        #expect(
            status.output == """
                [Excluded]    \(fixture.backing)/app/tmp/f
                    excluded by the layout ios of \(fixture.backing)/app
                    excluded by its parent \(fixture.backing)/app/tmp
                    honoured by no program without help: the mark can be read only on a mount
                    by rsync, tar, restic and borg with the list of `aclfs backup list --offline`
                [Included]    \(fixture.backing)/plain
                """, "\(status)")
        // A damaged record is neither "excluded" nor "included".
        try ActingProcess(.root).must("setxattr", fixture.backing + "/flag", "trusted.aclfs", "broken")
        let damaged = try Self.aclfs("backup", "list", "--offline", fixture.backing)
        #expect(
            damaged.status == 1 && damaged.output.contains("flag: unexpected answer of the file system: the record is damaged"),
            "\(damaged)")
    }

    /// Layouts, purging and the command itself, one after the other.
    @Test func theExamplesOfTheDocument() throws {
        let examples = try DocumentExamples("docs/guide/backup.md").sections.flatMap(\.examples)
        #expect(examples.count >= 19)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }
}
