import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Z1 to Z4: whatever moves is judged by where it is, for those who hold it, too.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxMoveTests {
    /// Through the other mount a directory goes out and comes back; in between it is closed to every process in it.
    @Test func outAndBack() throws {
        let sandbox = try SandboxFixture(unconfined: true)
        let (app, root) = (try ActingProcess(.alice), try ActingProcess(.root))
        let place = sandbox.path("Users/ann/Downloads/sub")
        try app.must("enter", place)
        try app.must("hold", "1", place, String(OpenFlag.path | O_DIRECTORY), "0")
        try app.must("hold", "2", place + "/file", String(O_RDWR), "0")
        let held = "/proc/self/fd/" + (try app.must("fd", "1"))
        let (here, away) = (sandbox.there("Users/ann/Downloads/sub"), sandbox.there("Users/ann/Documents/sub2"))
        for round in 0..<20 {
            try app.must("open", "file", String(O_RDWR))
            try app.must("open", held + "/file", String(O_RDWR))
            try app.must("fchmod", "2", "0666")
            try root.must("rename", here, away, "0")
            #expect(try app.call("open", "file", String(O_RDONLY)).word == "EPERM", "\(round)")
            #expect(try app.call("stat", held + "/file").word == "EPERM", "\(round)")
            #expect(try app.call("create", held + "/new", "0666", "0").word == "EPERM", "\(round)")
            #expect(try app.call("fchmod", "2", "0600").word == "EPERM", "\(round)")
            #expect(try app.call("stat", place).word == "ENOENT", "\(round)")
            // An open descriptor keeps what it was given.
            try app.must("pwrite", "2", "0", "kept")
            try root.must("rename", away, here, "0")
        }
        try app.must("stat", "file")
    }

    /// Any directory above counts.
    @Test func aDirectoryAbove() throws {
        let sandbox = try SandboxFixture(unconfined: true)
        let (app, root) = (try ActingProcess(.alice), try ActingProcess(.root))
        try root.must("mkdir", sandbox.there("Users/ann/Downloads/a"), "0777", "0")
        try root.must("mkdir", sandbox.there("Users/ann/Downloads/a/b"), "0777", "0")
        try root.must("create", sandbox.there("Users/ann/Downloads/a/b/f"), "0666", "0")
        try app.must("enter", sandbox.path("Users/ann/Downloads/a/b"))
        try app.must("open", "f", String(O_RDWR))
        try root.must("rename", sandbox.there("Users/ann/Downloads/a"), sandbox.there("Users/ann/Music/a"), "0")
        // There reading passes.
        try app.must("open", "f", String(O_RDONLY))
        try app.must("list", ".")
        #expect(try app.call("open", "f", String(O_RDWR)).word == "EPERM")
        #expect(try app.call("unlink", "f").word == "EPERM")
        try root.must("rename", sandbox.there("Users/ann/Music/a"), sandbox.there("etc/a"), "0")
        #expect(try app.call("open", "f", String(O_RDONLY)).word == "EPERM")
        // The place itself goes away, and another directory takes its name.
        try root.must("rename", sandbox.there("Users/ann/Downloads"), sandbox.there("Users/ann/Old"), "0")
        try root.must("mkdir", sandbox.there("Users/ann/Downloads"), "0777", "0")
        try root.must("rename", sandbox.there("etc/a"), sandbox.there("Users/ann/Downloads/a"), "0")
        try app.must("open", "f", String(O_RDWR))
        #expect(try app.call("stat", sandbox.path("Users/ann/Old/file")).word == "EPERM")
    }

    /// Far above, and nothing but what is far below was asked for lately: only that is in the kernel's caches.
    @Test(arguments: ["auto", "exclusive"]) func farAbove(_ cache: String) throws {
        let sandbox = try SandboxFixture(options: "cache=\(cache)", unconfined: true)
        let (app, root) = (try ActingProcess(.alice), try ActingProcess(.root))
        let (here, away) = (sandbox.there("Users/ann/Downloads/a"), sandbox.there("Users/ann/Documents/a"))
        for directory in [here, here + "/b", here + "/b/c"] { try root.must("mkdir", directory, "0777", "0") }
        try root.must("create", here + "/b/c/f", "0666", "0")
        try app.must("enter", sandbox.path("Users/ann/Downloads/a/b/c"))
        for round in 0..<20 {
            for _ in 0..<2 { try app.must("stat", "f") }
            #expect(try app.call("stat", "none").word == "ENOENT")
            try root.must("rename", here, away, "0")
            #expect(try app.call("stat", "f").word == "EPERM", "\(round)")
            #expect(try app.call("stat", "none").word == "EPERM", "\(round)")
            #expect(try app.call("stat", ".").word == "EPERM", "\(round)")
            try root.must("rename", away, here, "0")
        }
    }

    /// A removed directory is nowhere.
    @Test func aRemovedDirectory() throws {
        let sandbox = try SandboxFixture(unconfined: true)
        let (app, root) = (try ActingProcess(.alice), try ActingProcess(.root))
        let name = "Users/ann/Downloads/empty"
        try app.must("enter", sandbox.path(name))
        try app.must("access", ".", "0", "0")
        try root.must("rmdir", sandbox.there(name))
        #expect(try app.call("create", "x", "0666", "0").isOK == false)
        #expect(try app.call("list", ".").isOK == false)
        // One that only looks as if it had been removed.
        try app.must("enter", "/")
        try root.must("mkdir", sandbox.there(name + " (deleted)"), "0777", "0")
        try app.must("enter", sandbox.path(name + " (deleted)"))
        try app.must("create", "x", "0666", "0")
        try app.must("list", ".")
    }

    /// A file with names in two places is two: what may be done under one name says nothing about the other.
    @Test(arguments: ["auto", "strict"]) func twoNames(_ cache: String) throws {
        let sandbox = try SandboxFixture(options: "cache=\(cache)")
        let (out, both) = (sandbox.behind("Users/ann/Music/both"), sandbox.behind("Users/ann/Downloads/both"))
        try Spawn.run(["sh", "-c", "echo 123456 > \(out); chmod 666 \(out); chown 501:20 \(out); ln \(out) \(both)"])
            .check()
        let app = try ActingProcess(.alice)
        let (reading, writing) = (sandbox.path("Users/ann/Music/both"), sandbox.path("Users/ann/Downloads/both"))
        for _ in 0..<20 {
            try app.must("open", writing, String(O_RDWR))
            #expect(try app.call("open", reading, String(O_RDWR)).word == "EPERM")
            #expect(try app.call("chmod", reading, "0600").word == "EPERM")
            try app.must("chmod", writing, "0640")
            try app.must("hold", "1", reading, String(O_RDONLY), "0")
            #expect(try app.must("stat", reading).contains("640"))
            try app.must("chmod", writing, "0666")
            #expect(try app.must("stat", reading).contains("666"))
            try app.must("close", "1")
        }
        // The name where writing passes goes; the other stays what it is.
        try app.must("hold", "2", writing, String(O_RDWR), "0")
        try app.must("unlink", writing)
        #expect(try app.call("fchmod", "2", "0600").word == "EPERM", "it stands where only reading passes now")
        try app.must("pwrite", "2", "0", "kept")
        try app.must("open", reading, String(O_RDONLY))
    }

    /// What has lost its last name stays what it was; so does what never had one.
    @Test func unnamed() throws {
        let sandbox = try SandboxFixture()
        let app = try ActingProcess(.alice)
        try app.must("hold", "1", sandbox.inside("tmp/file"), String(O_RDWR), "0")
        try app.must("unlink", sandbox.inside("tmp/file"))
        for call in ["fstat", "fchmod"] { try app.must(call, "1", "0600") }
        try app.must("ftruncate", "1", "3")
        try app.must("hold", "2", sandbox.inside("tmp"), String(O_RDWR | __O_TMPFILE | O_DIRECTORY), "0600")
        try app.must("fchmod", "2", "0644")
        try app.must("linkheld", "2", sandbox.inside("Documents/named"))
        try app.must("fchmod", "2", "0600")
        try app.must("stat", sandbox.inside("Documents/named"))
        try app.must("rename", sandbox.inside("Documents/named"), sandbox.inside("tmp/again"), "0")
        try app.must("fchmod", "2", "0644")
        try app.must("unlink", sandbox.inside("tmp/again"))
        try app.must("fstat", "2")
    }

    /// Within what may be written all moves pass, and the moved is what its new place makes of it.
    @Test(arguments: ["auto", "strict"]) func movesInside(_ cache: String) throws {
        let sandbox = try SandboxFixture(options: "cache=\(cache)")
        let app = try ActingProcess(.alice)
        let places = [
            sandbox.inside("Documents"), sandbox.inside("tmp"), sandbox.path("Users/ann/Downloads"),
            sandbox.inside("Own"),
        ]
        for (from, to) in zip(places, places.dropFirst() + places.prefix(1)) {
            try app.must("rename", from + "/sub", to + "/came", "0")
            try app.must("create", to + "/came/new", "0666", "0")
            try app.must("open", to + "/came/file", String(O_RDWR))
            try app.must("rename", to + "/came", from + "/sub", "0")
            try app.must("link", from + "/file", to + "/linked")
            try app.must("open", to + "/linked", String(O_RDWR))
            try app.must("rename", from + "/moving", to + "/victim", "0")
            try app.must("rename", from + "/script", to + "/script", String(RenameFlag.exchange))
        }
    }
}
