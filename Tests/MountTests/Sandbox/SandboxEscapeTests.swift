import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Attempts to reach, from inside a confined mount, what its profile does not let pass. Each must fail, be found in the log
/// of denials with stage `sandbox`, and leave everything outside as it was.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxEscapeTests {
    struct Attempt {
        var name: String
        var words: [String]
        init(_ name: String, _ words: String...) { (self.name, self.words) = (name, words) }
    }

    /// Besides a second mount that nothing confines, and alone, with all that the kernel may keep.
    @Test(arguments: [true, false]) func escapes(_ isBesides: Bool) throws {
        let sandbox = try SandboxFixture(unconfined: isBesides)
        let app = try ActingProcess(.alice)
        let (downloads, music) = (sandbox.path("Users/ann/Downloads"), sandbox.path("Users/ann/Music"))
        let (documents, inbox) = (sandbox.inside("Documents"), sandbox.inside("Documents/Inbox"))
        let secret = "Users/ann/Documents"

        // What others do: moves, links and symlinks across the border, on the backing directory or through the other mount.
        let outside = isBesides ? sandbox.other : sandbox.fixture.backing
        for name in ["cwd", "held", "handle"] {
            try Spawn.run(["cp", "-a", "\(outside)/Users/ann/Downloads/sub", "\(outside)/Users/ann/Downloads/\(name)"])
                .check()
        }
        try app.must("enter", downloads + "/cwd")
        try app.must("hold", "1", downloads + "/held", String(O_RDONLY | O_DIRECTORY), "0")
        try app.must("hold", "2", downloads + "/victim", String(O_RDWR), "0")
        try app.must("hold", "3", music + "/file", String(O_RDONLY), "0")
        try app.must("hold", "4", inbox + "/file", String(O_RDONLY), "0")
        try app.must("hold", "5", downloads, String(O_RDWR | __O_TMPFILE | O_DIRECTORY), "0600")
        try app.must("hold", "6", sandbox.path("Users/ann"), String(OpenFlag.path | O_DIRECTORY), "0")
        try app.must("hold", "7", downloads + "/handle", String(O_RDONLY | O_DIRECTORY), "0")
        let script = """
            cd "$1/Users/ann" && mv Downloads/cwd Downloads/held Downloads/handle Downloads/victim Documents/
            ln Downloads/moving Documents/also && ln Music/victim Downloads/shared && ln Documents/file "$2/Documents/Inbox/two"
            ln -s ../../Documents/file Downloads/deep/out && ln -s Downloads Pictures/in
            """
        try Spawn.run(["sh", "-ec", script, "stage", outside, outside + "/" + sandbox.data]).check()
        // On the backing directory, a change is noticed after a second at the latest.
        if !isBesides { usleep(1_200_000) }

        func fd(_ slot: String, _ name: String = "") throws -> String {
            "/proc/self/fd/" + (try app.must("fd", slot)) + (name.isEmpty ? "" : "/" + name)
        }
        try app.must("symlink", sandbox.path("etc/file"), documents + "/absolute")
        try app.must("symlink", "../../../../../../../etc/file", documents + "/relative")
        let (read, write) = (String(O_RDONLY), String(O_WRONLY))
        let exchange = String(RenameFlag.exchange)
        let attempts: [Attempt] = [
            // By name.
            Attempt("a path", "open", sandbox.path("etc/file"), read),
            Attempt(
                "another's container", "stat",
                sandbox.path("Users/ann/Library/Containers/org.other.App/Data/Documents/file")),
            Attempt("to list the containers", "list", sandbox.path("Users/ann/Library/Containers")),
            Attempt("a path in another case", "stat", sandbox.path("users/ann")),
            Attempt("a place in another case", "mkdir", sandbox.path("Users/ann/downloads"), "0777", "0"),
            Attempt("whether a name exists", "stat", sandbox.path("no such name")),
            Attempt("..", "open", documents + "/../../../../../Documents/file", read),
            Attempt(".. of a working directory", "open", "../../Documents/file", read),
            Attempt("chdir", "chdir", sandbox.path(secret)),
            Attempt("execve", "exec", sandbox.path(secret + "/script")),
            Attempt("a symlink of the application's, absolute", "open", documents + "/absolute", read),
            Attempt("a symlink of the application's, relative", "open", documents + "/relative", read),
            Attempt("a symlink of others", "open", downloads + "/deep/out", read),
            Attempt("a symlink outside that leads back", "stat", sandbox.path("Users/ann/Pictures/in/file")),
            Attempt("a name on the way", "create", sandbox.path("Users/ann/new"), "0666", "0"),
            Attempt("openat", "open", try fd("6", "Documents/file"), read),
            Attempt("openat with ..", "open", try fd("6", "../../etc/file"), read),
            Attempt("renameat", "rename", try fd("6", "Downloads/file"), try fd("6", "Documents/new"), "0"),
            // Directories that have moved out.
            Attempt("a working directory: read", "open", "file", read),
            Attempt("a working directory: create", "create", "new", "0666", "0"),
            Attempt("a working directory: list", "list", "."),
            Attempt("a held directory: read", "open", try fd("1", "file"), read),
            Attempt("a held directory: mkdir", "mkdir", try fd("1", "new"), "0777", "0"),
            Attempt("a held directory: unlink", "unlink", try fd("1", "file")),
            Attempt("a held directory: move in", "rename", try fd("1", "file"), downloads + "/in", "0"),
            Attempt("a held directory: fchdir", "fchdir", "1"),
            Attempt("a held directory: list again", "relist", "7"),
            Attempt("a held directory: fchmod", "fchmod", "1", "0700"),
            Attempt("a held directory: statfs", "statfs", try fd("1")),
            // Files that have moved out, and descriptors without the right.
            Attempt("a held file: fchmod", "fchmod", "2", "0600"),
            Attempt("a held file: fstat", "fstat", "2"),
            Attempt("a held file: open anew", "open", try fd("2"), read),
            Attempt("a held file: link in", "linkheld", "2", downloads + "/in"),
            Attempt("a read-only file: open anew", "open", try fd("3"), write),
            Attempt("a read-only file: truncate", "truncate", try fd("3"), "0"),
            Attempt("a read-only file: fchmod", "fchmod", "3", "0666"),
            Attempt("a read-only file: link", "linkheld", "3", downloads + "/in"),
            Attempt("the Inbox: open anew", "open", try fd("4"), write),
            Attempt("the Inbox: link into Documents", "linkheld", "4", documents + "/in"),
            // Links.
            Attempt("a link to what is outside", "link", sandbox.path("etc/file"), downloads + "/in"),
            Attempt("a link to what is read only", "link", music + "/file", downloads + "/in"),
            Attempt("a link out of the Inbox", "link", inbox + "/file", documents + "/in"),
            Attempt("a link to the outside", "link", downloads + "/file", sandbox.path("etc/new")),
            Attempt("a link into what is read only", "link", downloads + "/file", music + "/new"),
            Attempt("the outer name of a file", "open", sandbox.path(secret + "/also"), read),
            Attempt("the read-only name of a file", "open", music + "/victim", write),
            Attempt("an unnamed file to the outside", "linkheld", "5", sandbox.path("etc/new")),
            Attempt("an unnamed file into a bundle", "linkheld", "5", sandbox.inside("Tool.app/new")),
            Attempt("an unnamed file into the Inbox", "linkheld", "5", inbox + "/new"),
            Attempt("an unnamed file in what is read only", "open", music, String(O_RDWR | __O_TMPFILE | O_DIRECTORY)),
            // Moves.
            Attempt("a move from outside", "rename", sandbox.path("etc/file"), downloads + "/in", "0"),
            Attempt("a move to the outside", "rename", downloads + "/file", sandbox.path("etc/new"), "0"),
            Attempt("a move out of what is read only", "rename", music + "/file", downloads + "/in", "0"),
            Attempt("the same with a directory", "rename", music + "/sub", downloads + "/in", "0"),
            Attempt("a move into what is read only", "rename", downloads + "/file", music + "/new", "0"),
            Attempt("an exchange with what is read only", "rename", downloads + "/file", music + "/file", exchange),
            Attempt("the same, the other way round", "rename", music + "/file", downloads + "/file", exchange),
            Attempt("an exchange with the Inbox", "rename", documents + "/file", inbox + "/file", exchange),
            Attempt("out of the Inbox, elsewhere", "rename", inbox + "/file", sandbox.inside("tmp/in"), "0"),
            Attempt("out of the Inbox, with another link", "rename", inbox + "/two", documents + "/in", "0"),
            Attempt("into the Inbox", "rename", documents + "/file", inbox + "/new", "0"),
            Attempt("over what is in the Inbox", "rename", documents + "/file", inbox + "/file", "0"),
            // Places.
            Attempt("a place is renamed", "rename", downloads, sandbox.path("Users/ann/Other"), "0"),
            Attempt("a place is exchanged", "rename", documents, sandbox.inside("Own"), exchange),
            Attempt("a place is replaced", "rename", sandbox.inside("Own/empty"), inbox, "0"),
            Attempt("a place is moved into another", "rename", documents, sandbox.inside("Own/in"), "0"),
            Attempt("a place is removed", "rmdir", inbox),
            Attempt(
                "what leads to a place is renamed", "rename", sandbox.inside("Library"), sandbox.inside("Lib"), "0"),
            Attempt("the container itself", "rename", sandbox.inside(""), sandbox.path("Users/ann/Downloads/in"), "0"),
            Attempt(
                "a place that is not there yet, a file", "create", sandbox.inside("Library/Application Support"),
                "0666", "0"),
            Attempt("the same, a symlink", "symlink", "/", sandbox.inside("Library/Application Support")),
            Attempt("the same, a link", "link", documents + "/file", sandbox.inside("Library/Application Support")),
            Attempt(
                "the same, a move", "rename", documents + "/sub", sandbox.inside("Library/Application Support"), "0"),
            // The application's own bundle.
            Attempt("into the bundle", "create", sandbox.inside("Tool.app/new"), "0777", "0"),
            Attempt("the bundle changes", "open", sandbox.inside("Tool.app/script"), write),
            Attempt("the bundle is renamed", "rename", sandbox.inside("Tool.app"), sandbox.inside("Own/Tool"), "0"),
            Attempt("the bundle is exchanged", "rename", sandbox.inside("Tool.app"), sandbox.inside("Own"), exchange),
            Attempt("a bundle of its own", "mkdir", sandbox.inside("Fake.app"), "0777", "0"),
            Attempt("the same, by a move", "rename", sandbox.inside("Own/sub"), sandbox.inside("Fake.app"), "0"),
            // Attributes where only reading passes.
            Attempt("set-id bits by a chown that changes nothing", "chown", music + "/file", "501", "20"),
            Attempt("an attribute", "setxattr", music + "/file", "user.x", "y", "0"),
            Attempt("entries", "setxattr", music, "system.aclfs.acl", "group:everyone allow write", "0"),
            Attempt("flags", "setxattr", music + "/file", "system.aclfs.flags", "-", "0"),
            Attempt("times", "utimes", music, "now"),
            Attempt("a copy into it", "copy", documents + "/file", music + "/script"),
        ]
        let guarded = [
            "etc", secret, "Users/ann/Music", "Users/ann/Pictures", sandbox.data + "/Tool.app",
            sandbox.data + "/Documents/Inbox",
        ]
        let before = try sandbox.stateOutside(guarded)
        for attempt in attempts {
            let result = try app.call(attempt.words)
            #expect(result.word == "EPERM", "\(attempt.name): \(result)")
            // One look each time takes as long as all the rest.
            guard MountTesting.isLong else { continue }
            let denial = try sandbox.denials(1)
            #expect(denial.contains("\"stage\":\"sandbox\",\"rule\":\""), "\(attempt.name): \(denial)")
        }
        let denials = try sandbox.denials(300).split(separator: "\"stage\":").dropFirst()
        #expect(denials.count >= attempts.count && denials.allSatisfy { $0.hasPrefix("\"sandbox\",\"rule\":\"") })
        #expect(try sandbox.stateOutside(guarded) == before)
        // And what passes still does.
        try app.must("linkheld", "5", downloads + "/named")
        try app.must("fstat", "5")
        try app.must("open", downloads + "/shared", write)
        try app.must("rename", inbox + "/file", documents + "/from inbox", "0")
        try app.must("open", documents + "/from inbox", write)
        try app.must("rename", inbox + "/sub", documents + "/package", "0")
        try app.must("create", documents + "/package/new", "0666", "0")
        try app.must("mkdir", sandbox.inside("Library/Application Support"), "0777", "0")
        try app.must("rename", documents + "/sub", sandbox.inside("tmp/arrived"), "0")
        try app.must("rename", documents + "/file", downloads + "/file", exchange)
        try app.must("pread", "2", "0")
    }
}
