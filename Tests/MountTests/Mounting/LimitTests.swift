import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Names and attributes at their limits, and the store under every name that could be it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct LimitTests {
    /// A directory of alice's, who is the one to call.
    private func start(_ fixture: MountFixture) throws -> (root: ActingProcess, alice: ActingProcess, place: String) {
        let root = try ActingProcess(.root)
        let place = fixture.path("d")
        try root.must("mkdir", place, "0755", "0")
        try root.must("chown", place, "501", "20")
        return (root, try ActingProcess(.alice), place)
    }

    /// As the acting process reads and prints it.
    private func escaped(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func aNameHasAnyByteButTwo() throws {
        let fixture = try MountFixture()
        let (root, alice, place) = try start(fixture)
        // 254 bytes; one more makes the longest name. In order it stands behind the directory's own two.
        let all = (1...255).map(UInt8.init).filter { $0 != UInt8(ascii: "/") }
        for (kind, name) in [("create", [0x61] + all), ("mkdir", [0x62] + all), ("symlink", [0x63] + all)] {
            let path = place + "/" + escaped(name)
            let made = kind == "symlink" ? ["symlink", escaped(all), path] : [kind, path, "0700", "0"]
            #expect(try alice.call(made).isOK)
            #expect(try unescaped(alice.must("names", place)) == Array(". .. ".utf8) + name)
            try alice.must("setxattr", path, "system.aclfs.acl", "user:#502 allow readattr", "0")
            #expect(try alice.must("getxattr", path, "system.aclfs.acl").contains("allow"))
            if kind == "symlink" { #expect(try unescaped(alice.must("readlink", path)) == all) }
            try alice.must("rename", path, place + "/" + escaped(name.reversed()), "0")
            #expect(try alice.call("stat", path).word == "ENOENT")
            let back = place + "/" + escaped(name.reversed())
            #expect(try alice.call(kind == "mkdir" ? "rmdir" : "unlink", back).isOK)
        }
        #expect(try alice.call("create", place + "/" + escaped([0x61, 0x62] + all), "0600", "0").word == "ENAMETOOLONG")
        #expect(try root.must("names", place) == ". ..")
    }

    /// `ulimit -f` where the mount was made is not for those who use it; their own holds.
    @Test func theSizeOfAFileIsTheCallersLimit() throws {
        let fixture = try MountFixture(options: "passthrough=off", within: ["prlimit", "--fsize=65536:unlimited", "--"])
        let path = fixture.path("f")
        #expect(try Spawn.run(["sh", "-c", "head -c 200000 /dev/zero >'\(path)'"]).status == 0)
        let limited = try Spawn.run(["prlimit", "--fsize=65536:65536", "--", "sh", "-c", "head -c 300000 /dev/zero >'\(path)'"])
        #expect(limited.status != 0)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size == 65536)
    }

    @Test func namesOfAttributes() throws {
        let fixture = try MountFixture()
        let (_, alice, place) = try start(fixture)
        let longest = String(repeating: "n", count: 250)
        #expect(try alice.call("setxattr", place, "user." + longest, "1").isOK)
        // One object, by its name without the prefix, too.
        #expect(try alice.must("getxattr", place, longest) == "1")
        #expect(try alice.call("setxattr", place, longest + "n", "1").word == "ERANGE")
        #expect(try alice.call("setxattr", place, "user." + longest + "n", "1").word == "ERANGE")
        let odd = escaped((1...40).map(UInt8.init) + (128...255).map(UInt8.init))
        #expect(try alice.call("setxattr", place, "user." + odd, "2").isOK)
        #expect(try alice.must("getxattr", place, odd) == "2")
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            #expect(try alice.call("getxattr", place, name).word == "ENODATA", "\(name)")
        }
        for name in ["system.nfs4_dacl", "system.unknown", "os2.x", "osx.x"] {
            #expect(try alice.call("getxattr", place, name).word == "EOPNOTSUPP", "\(name)")
        }
        for name in ["system.nfs4_dacl", "system.unknown", "os2.x", "osx.x"] {
            #expect(try alice.call("setxattr", place, name, "x").word == "EOPNOTSUPP", "\(name)")
        }
    }

    /// The store is neither seen nor touched, by any caller and in any spelling.
    @Test func theStoreHasNoAlias() throws {
        let fixture = try MountFixture()
        let (root, alice, place) = try start(fixture)
        try root.must("setxattr", place, "system.aclfs.acl", "user:#502 deny add_file")
        let names = [
            "trusted.aclfs", "trusted.ACLFS", "Trusted.Aclfs", "trusted.aclfs.x", "user.aclfs", "user.AclFS", "User.aclfs",
            "user.aclfs.old", "aclfs", "ACLFS", "aclfs.x", "com.apple.system.Security", "COM.apple.System.x",
            "user.com.apple.system.Security",
        ]
        let before = try Spawn.run(["getfattr", "-d", "-m", "-", "-e", "hex", fixture.backing + "/d"])
        #expect(before.output.contains("trusted.aclfs=0x"))
        for name in names {
            for user in [root, alice] {
                #expect(try user.call("setxattr", place, name, "x").word == "EPERM", "\(name)")
                #expect(try user.call("removexattr", place, name).word == "EPERM", "\(name)")
                // Of trusted.* the kernel tells others than root that there is none.
                let hidden = name.hasPrefix("trusted.") && user === alice ? "ENODATA" : "EPERM"
                #expect(try user.call("getxattr", place, name).word == hidden, "\(name)")
            }
        }
        // Its list is listed for copies.
        for user in [root, alice] { #expect(try user.must("listxattr", place) == "user.com.apple.acl.text\\x00") }
        #expect(try Spawn.run(["getfattr", "-d", "-m", "-", "-e", "hex", fixture.backing + "/d"]).output == before.output)
    }

    @Test func moreThan128Entries() throws {
        let fixture = try MountFixture()
        let (_, alice, place) = try start(fixture)
        let list = { (count: Int) in (0..<count).map { "user:#\(1000 + $0) allow read" }.joined(separator: "\n") }
        try alice.must("setxattr", place, "system.aclfs.acl", list(128))
        for text in [list(129), list(2000), "user:#502 allow flying", "nobody-of-this-name-exists allow read", "\\x00", "user:#502"] {
            #expect(try alice.call("setxattr", place, "system.aclfs.acl", text).word == "EINVAL", "\(text.prefix(40))")
        }
        let kept = String(decoding: try unescaped(alice.must("getxattr", place, "system.aclfs.acl")), as: UTF8.self)
        #expect(kept.split(separator: "\n").count == 128)
        // One more, by the command: nothing is half done, and it says how many there may be.
        let result = try TestUser.alice.run(MountTesting.program("aclfs"), "chmod", "+a", "user:502 allow read", place)
        #expect(result.status == 1 && result.output.contains("128"), "\(result)")
        #expect(String(decoding: try unescaped(alice.must("getxattr", place, "system.aclfs.acl")), as: UTF8.self) == kept)
        // Natively Linux allows 64 KiB and no more.
        #expect(try alice.call("setxattr", place, "system.aclfs.acl", String(repeating: "x", count: 65_537)).word == "E2BIG")
    }

    /// What the backing file system takes, up to what Linux takes.
    @Test func largeValues() throws {
        let fixture = try MountFixture(options: nil)
        let value = String(repeating: "0123456789abcdef", count: 4096)
        // ext4 or the like: as much as fits beside the record.
        try fixture.mount()
        var (_, alice, place) = try start(fixture)
        try alice.must("setxattr", place, "user.x", "old")
        let there = try Spawn.run(["stat", "-f", "-c", "%T", fixture.backing]).output
        if there == "ext2/ext3" {
            #expect(try alice.call("setxattr", place, "user.x", value).word == "ENOSPC")
            #expect(try alice.must("getxattr", place, "user.x") == "old")
        }
        #expect(try fixture.unmount().status == 0)
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", fixture.backing]).status == 0)
        defer {
            _ = try? fixture.unmount()
            _ = try? Spawn.run(["umount", "-l", fixture.backing])
        }
        try fixture.mount()
        (_, alice, place) = try start(fixture)
        #expect(try alice.call("setxattr", place, "user.x", value).isOK)
        let read = try alice.must("getxattr", place, "user.x")
        #expect(read == value)
        #expect(try alice.call("setxattr", place, "user.x", value + "0").word == "E2BIG")
        #expect(try alice.must("getxattr", place, "user.x") == value)
        #expect(try alice.must("listxattr", place) == "user.x\\x00")
        #expect(try alice.call("setxattr", place, "system.aclfs.acl", "user:#502 deny list").isOK)
        #expect(try alice.call("removexattr", place, "user.x").isOK)
    }
}
