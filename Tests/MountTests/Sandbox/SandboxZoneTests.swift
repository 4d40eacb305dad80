import Glibc
import LinuxSystem
import TestSupport
import Testing

/// What passes in which place, by real calls of a real user on a real mount (docs/reference/sandbox-zones.md). Alice owns all of it;
/// root is bound as well.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxZoneTests {
    enum Kind { case all, read, inbox, none }

    /// One call in a directory that holds what `SandboxFixture.fill` makes.
    struct Operation {
        var name: String
        /// `@` stands for the directory.
        var words: [String]
        var passes: Set<Kind>
    }

    static let operations: [Operation] = [
        ("stat", ["stat", "@/file"], [.all, .read, .inbox]),
        ("read", ["open", "@/file", "\(O_RDONLY)"], [.all, .read, .inbox]),
        ("execute", ["access", "@/script", "1", "0"], [.all, .read, .inbox]),
        ("read a link", ["readlink", "@/symlink"], [.all, .read, .inbox]),
        ("list", ["list", "@"], [.all, .read, .inbox]),
        ("list below", ["list", "@/sub"], [.all, .read, .inbox]),
        ("look up below", ["stat", "@/sub/file"], [.all, .read, .inbox]),
        ("list attributes", ["listxattr", "@/file"], [.all, .read, .inbox]),
        ("write", ["open", "@/file", "\(O_WRONLY)"], [.all]),
        ("append", ["open", "@/file", "\(O_WRONLY | O_APPEND)"], [.all]),
        ("truncate by open", ["open", "@/file", "\(O_RDONLY | O_TRUNC)"], [.all]),
        ("access for writing", ["access", "@/file", "2", "0"], [.all]),
        ("truncate", ["truncate", "@/file", "3"], [.all]),
        ("mode", ["chmod", "@/file", "0666"], [.all]),
        ("mode of the directory", ["chmod", "@", "0777"], [.all]),
        ("owner, the same", ["chown", "@/file", "501", "20"], [.all]),
        ("times, now", ["utimes", "@/file", "now"], [.all]),
        ("times, chosen", ["utimes", "@/file", "explicit"], [.all]),
        ("attribute", ["setxattr", "@/file", "user.a", "b", "0"], [.all]),
        ("flags", ["setxattr", "@/file", "system.aclfs.flags", "hidden", "0"], [.all]),
        ("list of entries", ["setxattr", "@/file", "system.aclfs.acl", "", "0"], [.all]),
        ("a backup key", ["setxattr", "@/file", "user.xdg.robots.backup", "false", "0"], [.all]),
        ("create", ["create", "@/new", "0666", "0"], [.all]),
        ("create by open", ["open", "@/new2", "\(O_RDWR | O_CREAT)"], [.all]),
        ("an unnamed file", ["open", "@", "\(O_RDWR | __O_TMPFILE | O_DIRECTORY)"], [.all]),
        ("mkdir", ["mkdir", "@/newdir", "0777", "0"], [.all]),
        ("symlink", ["symlink", "file", "@/newlink"], [.all]),
        ("fifo", ["mkfifo", "@/newfifo", "0666", "0"], [.all]),
        ("hard link", ["link", "@/file", "@/hard"], [.all]),
        ("rename", ["rename", "@/moving", "@/moved", "0"], [.all]),
        ("exchange", ["rename", "@/file", "@/script", "\(RenameFlag.exchange)"], [.all]),
        ("rename a directory", ["rename", "@/empty", "@/empty2", "0"], [.all]),
        ("unlink", ["unlink", "@/victim"], [.all, .inbox]),
        ("rmdir", ["rmdir", "@/sub/none"], []),
    ].map { Operation(name: $0.0, words: $0.1, passes: $0.2) }

    static let macos: [(String, Kind)] = [
        ("Users/ann/Downloads", .all), ("Users/ann/Downloads/deep", .all), ("Users/ann/Music", .read),
        ("Users/ann/Documents", .none), ("Users/ann/Pictures", .none), ("etc", .none),
        ("Users/ann/Library/Containers/org.other.App/Data/Documents", .none), ("DATA/Documents", .all),
        ("DATA/Documents/Inbox", .inbox), ("DATA/Library", .all), ("DATA/Library/Caches", .all),
        ("DATA/Library/Preferences", .all), ("DATA/tmp", .all), ("DATA/Own", .all), ("DATA/Tool.app", .read),
    ]
    static let ios: [(String, Kind)] = [
        ("Users/ann/Downloads", .all), ("Users/ann/Music", .read), ("Users/ann/Documents", .none),
        ("DATA/Documents", .all),
        ("DATA/Documents/Inbox", .inbox), ("DATA/Library", .all), ("DATA/Library/Caches", .all), ("DATA/tmp", .all),
        ("Users/ann/Containers/Bundle/org.example.App/Tool.app", .read),
    ]

    @Test(arguments: ["macos", "ios"]) func whatPassesWhere(_ layout: String) throws {
        let sandbox = try SandboxFixture(layout: layout)
        let alice = try ActingProcess(.alice)
        for (place, kind) in layout == "ios" ? Self.ios : Self.macos {
            let directory = sandbox.path(place.replacing("DATA", with: sandbox.data))
            for operation in Self.operations {
                let words = operation.words.map { $0.replacing("@", with: directory) }
                // What does not exist is not told where nothing passes, and else is as it is anywhere.
                if operation.name == "rmdir" {
                    #expect(
                        try alice.call(words).word == (kind == .none ? "EPERM" : "ENOENT"), "\(layout) \(place): rmdir")
                    continue
                }
                let expected = operation.passes.contains(kind) ? "ok" : "EPERM"
                #expect(try alice.call(words).word == expected, "\(layout) \(place): \(operation.name)")
            }
        }
    }

    /// Z12: root passes entries and modes, not the sandbox.
    @Test func rootIsBoundToo() throws {
        let sandbox = try SandboxFixture()
        let root = try ActingProcess(.root)
        #expect(try root.call("stat", sandbox.path("etc/file")).word == "EPERM")
        #expect(try root.call("open", sandbox.path("Users/ann/Music/file"), String(O_WRONLY)).word == "EPERM")
        #expect(try root.call("chown", sandbox.path("Users/ann/Music/file"), "0", "0").word == "EPERM")
        #expect(try root.call("setxattr", sandbox.path("Users/ann/Music/file"), "trusted.x", "y", "0").word == "EPERM")
        try root.must("open", sandbox.path("Users/ann/Music/file"), String(O_RDONLY))
    }

    /// Z5: on the way to a place, names are found that lead there, and nothing is listed or made.
    @Test func theWay() throws {
        let sandbox = try SandboxFixture()
        let alice = try ActingProcess(.alice)
        for way in ["", "Users", "Users/ann", "Users/ann/Library", "Users/ann/Library/Containers"] {
            let path = sandbox.path(way)
            try alice.must("stat", path)
            try alice.must("chdir", path)
            #expect(try alice.call("list", path).word == "EPERM", "\(way)")
            #expect(try alice.call("create", path + "/new", "0666", "0").word == "EPERM", "\(way)")
            #expect(try alice.call("mkdir", path + "/new", "0777", "0").word == "EPERM", "\(way)")
            #expect(try alice.call("chmod", path, "0777").word == "EPERM", "\(way)")
            #expect(try alice.call("listxattr", path).word == "EPERM", "\(way)")
            // Whether something is there is not told.
            #expect(try alice.call("stat", path + "/nothing").word == "EPERM", "\(way)")
            try alice.must("statfs", path)
        }
        #expect(try alice.call("statfs", sandbox.path("etc")).word == "EPERM")
    }

    /// Z7: an ios container's top takes the guide's directories and nothing else.
    @Test func theTopOfAnIosContainer() throws {
        let sandbox = try SandboxFixture(layout: "ios")
        let alice = try ActingProcess(.alice)
        try Spawn.run([
            "rm", "-r", sandbox.behind(sandbox.data + "/tmp"), sandbox.behind(sandbox.data + "/Documents/Inbox"),
        ]).check()
        let top = sandbox.inside("")
        // Listed, and no more: also for the kernel that has just been told of the others.
        #expect(try alice.must("names", top).contains("other"))
        try alice.must("stat", sandbox.inside("Documents"))
        for name in ["other", "other/file"] { #expect(try alice.call("stat", top + name).word == "EPERM", "\(name)") }
        for (name, expected) in [("new", "EPERM"), ("Tool.app", "EPERM"), ("tmp", "EPERM"), ("Documents2", "EPERM")] {
            #expect(try alice.call("create", top + name, "0666", "0").word == expected, "\(name)")
            #expect(try alice.call("symlink", "x", top + name).word == expected, "\(name)")
            #expect(try alice.call("link", sandbox.inside("Documents/file"), top + name).word == expected, "\(name)")
            #expect(
                try alice.call("rename", sandbox.inside("Documents/sub"), top + name, "0").word == expected, "\(name)")
        }
        #expect(try alice.call("mkdir", top + "new", "0777", "0").word == "EPERM")
        try alice.must("mkdir", top + "tmp", "0777", "0")
        try alice.must("create", top + "tmp/file", "0666", "0")
        try alice.must("mkdir", sandbox.inside("Documents/Inbox"), "0777", "0")
        #expect(try alice.call("create", sandbox.inside("Documents/Inbox/file"), "0666", "0").word == "EPERM")
        for place in ["Documents", "Documents/Inbox", "Library", "Library/Caches", "tmp"] {
            #expect(try alice.call("rmdir", top + place).word == "EPERM", "\(place)")
            #expect(
                try alice.call("rename", top + place, sandbox.path("Users/ann/Downloads/elsewhere"), "0").word
                    == "EPERM", "\(place)")
        }
    }

    /// What the container's layout leaves out of backups is seen through the confined mount, and carried nowhere.
    @Test(arguments: ["macos", "ios"]) func backups(_ layout: String) throws {
        let sandbox = try SandboxFixture(layout: layout, unconfined: true)
        let alice = try ActingProcess(.alice)
        func state(_ path: String) throws -> String {
            try Spawn.run([MountTesting.program("aclfs"), "backup", "status", path]).output
        }
        let bundle =
            layout == "ios"
            ? "Users/ann/Containers/Bundle/\(SandboxFixture.bundle)/Tool.app" : sandbox.data + "/Tool.app"
        for place in [sandbox.data + "/tmp", sandbox.data + "/Library/Caches", bundle] {
            let said = try state(sandbox.path(place) + "/file")
            #expect(said.hasPrefix("[Excluded]") && said.contains("excluded by the layout of its container"), "\(said)")
            #expect(said.contains("excluded by its parent \(sandbox.path(place))"), "\(said)")
            #expect(try state(sandbox.there(place) + "/file").hasPrefix("[Included]"))
        }
        for place in ["", "/Documents", "/Documents/Inbox", "/Library"] {
            #expect(try state(sandbox.path(sandbox.data + place)).hasPrefix("[Included]"), "\(place)")
        }
        let (file, copy) = (sandbox.inside("tmp/file"), sandbox.inside("Documents/copy"))
        #expect(try Spawn.run([MountTesting.program("aclfs"), "backup", "include", file]).status == 1)
        // Another flag changes; what only the place says is not written down.
        try alice.must("setxattr", file, "system.aclfs.flags", "nodump,hidden", "0")
        #expect(try alice.call("getxattr", file, "user.xdg.robots.backup").word == "ENODATA")
        #expect(try alice.must("listxattr", file).isEmpty)
        try Spawn.run(["cp", "-a", file, copy]).check()
        #expect(try state(copy).hasPrefix("[Included]"))
        try alice.must("rename", file, copy, "0")
        #expect(try state(copy).hasPrefix("[Included]"))
        #expect(try alice.must("getxattr", copy, "system.aclfs.flags") == "hidden")
        // The command gives it a mark of its own, with which it leaves.
        let victim = sandbox.inside("tmp/victim")
        try TestUser.alice.run(MountTesting.program("aclfs"), "backup", "exclude", victim).check()
        #expect(try state(victim).contains("excluded itself"))
        try alice.must("rename", victim, copy, "0")
        #expect(try state(copy).contains("excluded itself"))
        #expect(try Spawn.run([MountTesting.program("aclfs"), "backup", "include", copy]).status == 0)
        #expect(try state(copy).hasPrefix("[Included]"))
    }

    /// Z5: an explanation about two names in one directory does not tell either whether a closed one is there.
    @Test func twoNamesOfOneDirectoryAreBothLookedUp() throws {
        let sandbox = try SandboxFixture()
        func said(_ word: String, _ name: String) throws -> String {
            let result = try sandbox.explain(word, sandbox.path("Users"), sandbox.path(name))
            #expect(result.status == 1 && result.output.contains("no key reaches this place"), "\(word) \(name): \(result)")
            return result.output.split(separator: sandbox.path(name)).joined(separator: "NAME")
        }
        for word in ["link", "rename"] { #expect(try said(word, "etc") == said(word, "abc"), "\(word)") }
    }

    /// Z13: a refusal names the key, in the log of denials and in an explanation.
    @Test func aRefusalNamesItsRule() throws {
        let sandbox = try SandboxFixture()
        let alice = try ActingProcess(.alice)
        let rules: [(String, [String], String)] = [
            ("Users/ann/Music/file", ["open-write"], "com.apple.security.assets.music.read-only"),
            (sandbox.data + "/Documents/Inbox/file", ["open-write"], "container:Documents/Inbox"),
            (sandbox.data + "/Tool.app/file", ["chmod"], "container:AppName.app"),
            ("etc/file", ["stat"], "no key reaches this place"),
            (sandbox.data + "/Documents", ["rmdir"], "container:Documents: stays where it is"),
        ]
        for (path, words, rule) in rules {
            let result = try sandbox.explain(words[0], sandbox.path(path))
            #expect(
                result.status == 1 && result.output.contains("sandbox") && result.output.contains(rule),
                "\(path): \(result)")
            switch words[0] {
            case "open-write": _ = try alice.call("open", sandbox.path(path), String(O_WRONLY))
            case "chmod": _ = try alice.call("chmod", sandbox.path(path), "0777")
            default: _ = try alice.call(words[0], sandbox.path(path))
            }
            let denial = try sandbox.denials(1)
            #expect(
                denial.contains("\"errno\":\"EPERM\",\"stage\":\"sandbox\",\"rule\":\"\(rule)\""), "\(path): \(denial)")
        }
        let effective = try Spawn.run(
            [MountTesting.program("aclfs"), "effective", "--as", "501", sandbox.path("Users/ann/Music/file")])
        let lines = effective.output.split(separator: "\n")
        for (right, outcome) in [
            ("read ", "allowed"), ("write ", "denied"), ("delete ", "denied"), ("chown ", "denied"),
        ] {
            let line = lines.first { $0.hasPrefix(right) } ?? ""
            #expect(line.contains(outcome), "\(effective)")
            #expect(outcome == "allowed" || line.contains("sandbox"), "\(effective)")
        }
        let allowed = try sandbox.explain("open-read", sandbox.path("Users/ann/Music/file"))
        #expect(allowed.status == 0, "\(allowed)")
    }

    /// Where a name of it is refused, the directory stands among those on the way as everywhere.
    @Test func noDirectoryOfTheWayIsLeftOut() throws {
        let sandbox = try SandboxFixture()
        let said = try sandbox.explain("open-read", sandbox.path("Users/ann/none/file"))
        let rows = said.output.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace).prefix(3).joined(separator: " ") }
        let expected = [("Users", "allowed"), ("Users/ann", "allowed"), ("Users/ann/none", "denied")]
        for (name, outcome) in expected { #expect(rows.contains("\(sandbox.path(name)) search \(outcome)"), "\(said)") }
    }

    /// Outside all zones it is the name that is refused, whether there is such a name or not, and to every caller: also an
    /// ordinary user is told so about others.
    @Test func outsideTheRefusedNameIsNamed() throws {
        let sandbox = try SandboxFixture()
        let aclfs = MountTesting.program("aclfs")
        for name in ["etc", "none"] {
            for below in ["", "/file", "/sub/file"] {
                let path = sandbox.path(name + below)
                let refusal = "\(sandbox.path(name)) search denied sandbox no key reaches this place"
                for words in [["open-read"], ["--as", "502", "open-read"]] {
                    for user in [TestUser.alice, .root] {
                        let said = try user.run([aclfs, "explain"] + words + [path])
                        let row = said.output.split(whereSeparator: { $0 == " " }).joined(separator: " ")
                        #expect(said.status == 1 && row.contains(refusal), "\(words) \(path): \(said)")
                        #expect(said.output.hasSuffix("denied: EPERM"), "\(said)")
                    }
                }
                for user in [TestUser.alice, .root] {
                    let who = try user.run([aclfs, "explain", "--who-can", "read", path])
                    let noUser = "aclfs: no user may: the sandbox refuses \(sandbox.path(name)): no key reaches this place"
                    #expect(who.status == 1 && who.output == noUser, "\(path): \(who)")
                    let rights = try user.run([aclfs, "effective", "--as", "502", path])
                    #expect(
                        rights.status == 0 && rights.output.contains("no key reaches this place")
                            && rights.output.contains("search is denied at \(sandbox.path(name))"), "\(path): \(rights)")
                }
            }
        }
        // What entries and modes close tells another user nothing, as everywhere.
        let closed = sandbox.path("Users/ann/Downloads/deep")
        try TestUser.alice.run("chmod", "0700", closed).check()
        let stranger = try TestUser.bob.run(aclfs, "explain", "--as", "501", "stat", closed + "/file")
        #expect(stranger.status == 2 && stranger.output.contains("No such file"), "\(stranger)")
        let last = try TestUser.alice.run(aclfs, "explain", "--last", sandbox.fixture.mountpoint)
        #expect(last.status == 0, "\(last)")
        _ = try TestUser.alice.run("cat", sandbox.path("etc/file"))
        let denied = try TestUser.alice.run(aclfs, "explain", "--last", "1", sandbox.fixture.mountpoint)
        #expect(denied.output.contains(" \(sandbox.path("etc"))  EPERM  sandbox  no key reaches this place"), "\(denied)")
    }
}

extension CommandResult {
    /// For a step that must succeed before the test means anything.
    func check() throws { if status != 0 { throw FixtureError("\(self)") } }
}
