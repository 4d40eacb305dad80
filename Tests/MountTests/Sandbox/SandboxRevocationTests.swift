import Glibc
import TestSupport
import Testing

/// Z14: a grant that is revoked counts no more when the command has returned, with everything cached that may be.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRevocationTests {
    private static let rounds = MountTesting.isLong ? 500 : 5
    private static let keys = ["files.user-selected.read-write": "<true/>"]

    /// A mount namespace in which grants are kept apart from the machine's.
    private func place(_ options: String, unconfined: Bool) throws -> (PrivateAccounts, SandboxFixture) {
        let accounts = try PrivateAccounts(users: ["alice": 501], groups: [20: .init(name: "staff", members: [])])
        try Spawn.run(accounts.within + ["mount", "-t", "tmpfs", "tmpfs", "/var/lib"]).check()
        let sandbox = try SandboxFixture(Self.keys, options: options, unconfined: unconfined, within: accounts.within)
        return (accounts, sandbox)
    }

    @Test(arguments: [("cache=auto", false), ("cache=exclusive", false), ("cache=strict", false), ("cache=auto", true)])
    func atOnce(_ options: String, _ isBesides: Bool) throws {
        let (accounts, sandbox) = try place(options, unconfined: isBesides)
        let app = try ActingProcess(.alice, within: accounts.within)
        let another = try ActingProcess(.bob, within: accounts.within)
        let place = sandbox.path("Users/ann/Documents")
        // A directory that is held keeps nothing but its bytes.
        for round in 0..<Self.rounds {
            try sandbox.grant("add", "--read-write", place)
            try app.must("hold", "1", place + "/file", String(O_RDWR), "0")
            try app.must("hold", "2", place + "/sub", String(O_RDONLY | O_DIRECTORY), "0")
            try app.must("enter", place)
            for actor in [app, another] {
                try actor.must("names", place)
                try actor.must("stat", place + "/sub/file")
                try actor.must("stat", place + "/sub/file")
            }
            try sandbox.grant("remove", place)
            for actor in [app, another] {
                for path in [place, place + "/file", place + "/sub", place + "/sub/file", place + "/nothing"] {
                    #expect(try actor.call("stat", path).word == "EPERM", "\(round): \(path)")
                }
            }
            #expect(try app.call("stat", "file").word == "EPERM", "\(round)")
            #expect(try app.call("list", ".").word == "EPERM", "\(round)")
            #expect(try app.call("relist", "2").word == "EPERM", "\(round)")
            #expect(try app.call("fstat", "1").word == "EPERM", "\(round)")
            try app.must("pwrite", "1", "0", "kept")
            for held in ["1", "2"] { try app.must("close", held) }
            try app.must("enter", "/")
        }
    }

    /// It ends by itself, and what the kernel kept ends with it.
    @Test(arguments: ["cache=auto", "cache=exclusive"]) func inTime(_ options: String) throws {
        let (accounts, sandbox) = try place(options, unconfined: false)
        let app = try ActingProcess(.alice, within: accounts.within)
        let place = sandbox.path("Users/ann/Documents")
        let end = time(nil) + 6
        try sandbox.grant("add", "--read-only", "--expires", "@\(end)", place)
        try app.must("open", place + "/file", String(O_RDONLY))
        #expect(try app.call("open", place + "/file", String(O_RDWR)).word == "EPERM")
        while time(nil) < end { try app.call("stat", place + "/sub/file") }
        // What the clock's thread does in that second; asked anew it is over at once.
        #expect(try app.call("open", place + "/sub/file", String(O_RDONLY)).word == "EPERM")
        #expect(try eventually { try app.call("stat", place + "/sub/file").word == "EPERM" })
        #expect(try app.call("stat", place).word == "EPERM")
    }
}
