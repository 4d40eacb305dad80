import Foundation
import Glibc
import Testing

@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HandleAndRevocationTests {
    let fixture: MountFixture
    let root: ActingProcess
    let bob: ActingProcess

    init() throws {
        fixture = try MountFixture(options: "suid")
        root = try ActingProcess(.root)
        bob = try ActingProcess(.bob)
        try root.must("mkdir", fixture.path("d"), "0755", "0")
        try root.must("create", fixture.path("d/f"), "0644", "0")
        try root.must("chown", fixture.path("d/f"), "501", "20")
    }

    @Test func appendingIsAllThatItGives() throws {
        let file = fixture.path("d/f")
        try root.must("hold", "1", file, String(O_WRONLY), "0")
        try root.must("write", "1", "first")
        try root.must("close", "1")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#502 allow append")
        #expect(try bob.call("open", file, String(O_WRONLY)).word == "EACCES")
        try bob.must("hold", "1", file, String(O_RDWR | O_APPEND), "0")
        try bob.must("setfl", "1", "0")
        _ = try bob.call("pwrite", "1", "0", "XXXXX")
        _ = try bob.call("write", "1", "more")
        #expect(try !bob.call("map", "1").isOK)
        #expect(try !bob.call("ftruncate", "1", "0").isOK)
        try root.must("hold", "2", file, String(O_RDONLY), "0")
        #expect(try root.must("pread", "2", "0").hasPrefix("first"))
    }

    @Test func aWriteClearsSetID() throws {
        let file = fixture.path("d/f")
        try root.must("chmod", file, "06777")
        try bob.must("hold", "1", file, String(O_WRONLY), "0")
        try bob.must("write", "1", "x")
        #expect(unescaped(try root.must("stat", file)).starts(with: "501 20 777 ".utf8))
    }

    @Test func aSetGroupDirectoryGivesItsGroup() throws {
        let directory = fixture.path("d")
        try root.must("chown", directory, "502", "601")
        try root.must("chmod", directory, "02755")
        try bob.must("create", directory + "/new", "0644", "0")
        #expect(unescaped(try root.must("stat", directory + "/new")).starts(with: "502 601 644 ".utf8))
    }

    /// Every change that takes access away counts for the very next call of the other user.
    @Test(arguments: ["mode", "entry", "flag", "closed"])
    func revocationIsImmediate(_ way: String) throws {
        let file = fixture.path("d/f")
        try root.must("mkdir", fixture.path("closed"), "0700", "0")
        for round in 0..<(MountTesting.isLong ? 1_000 : 50) {
            let before: CallResult
            let after: CallResult
            switch way {
            case "mode":
                before = try bob.call("open", file, "0")
                try root.must("chmod", fixture.path("d"), "0700")
                after = try bob.call("open", file, "0")
                try root.must("chmod", fixture.path("d"), "0755")
            case "entry":
                before = try bob.call("open", file, "0")
                try root.must("setxattr", file, "system.aclfs.acl", "user:#502 deny read")
                after = try bob.call("open", file, "0")
                try root.must("removexattr", file, "system.aclfs.acl")
            case "flag":
                if round == 0 { try root.must("chmod", file, "0666") }
                before = try bob.call("open", file, String(O_WRONLY))
                try root.must("setxattr", file, "system.aclfs.flags", "uchg")
                after = try bob.call("open", file, String(O_WRONLY))
                try root.must("setxattr", file, "system.aclfs.flags", "-")
            default:
                before = try bob.call("open", file, "0")
                try root.must("rename", fixture.path("d"), fixture.path("closed/d"), "0")
                after = try bob.call("open", fixture.path("closed/d/f"), "0")
                try root.must("rename", fixture.path("closed/d"), fixture.path("d"), "0")
            }
            let refused = way == "flag" ? "EPERM" : "EACCES"
            guard before.isOK, after.word == refused else {
                Issue.record("round \(round): \(before) before, \(after) after")
                return
            }
        }
    }
}
