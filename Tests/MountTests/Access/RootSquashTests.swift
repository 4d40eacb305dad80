import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport
import Testing

/// `rootsquash`: root as a caller is an unprivileged user (docs/reference/mounting.md "rootsquash").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RootSquashTests {
    private let unprivileged = "65534"
    private let aclfs = MountTesting.program("aclfs")

    /// A mount whose top is alice's and open to all, with root as a member of a group, and of the directory's other users.
    private func mount(
        _ options: String
    ) throws -> (fixture: MountFixture, root: ActingProcess, alice: ActingProcess, bob: ActingProcess) {
        let fixture = try MountFixture(options: nil)
        #expect(chown(fixture.backing, 501, 20) == 0 && chmod(fixture.backing, 0o777) == 0)
        try fixture.mount(options)
        return (
            fixture, try ActingProcess(TestUser(uid: 0, gid: 0, groups: [0, 20, 600])), try ActingProcess(.alice), try ActingProcess(.bob)
        )
    }

    private func make(_ path: String, _ mode: String, acl: String? = nil, by user: ActingProcess) throws -> String {
        try user.must("create", path, mode, "0")
        try user.must("chmod", path, mode)
        if let acl { try user.must("setxattr", path, "system.aclfs.acl", acl) }
        return path
    }

    private func ids(_ path: String, _ user: ActingProcess) throws -> [String] {
        unescaped(try user.must("stat", path)).split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        "rootsquash", "rootsquash,transport=dev", "rootsquash,passthrough=off", "rootsquash,cache=strict", "rootsquash,cache=exclusive",
    ])
    func rootHasTheRightsOfAStranger(_ options: String) throws {
        let (fixture, root, alice, bob) = try mount(options)
        let mine = try make(fixture.path("mine"), "0600", by: alice)
        let open = try make(fixture.path("open"), "0644", by: alice)
        // Neither the groups of root's process nor its gid count: group 20 may read the one, and is denied the other.
        let group = try make(fixture.path("group"), "0640", by: alice)
        let denied = try make(fixture.path("denied"), "0644", acl: "group:#20 deny read\ngroup:#0 deny read\nuser:#0 deny read", by: alice)
        let named = try make(fixture.path("named"), "0600", acl: "user:#65534 allow read", by: alice)
        let closed = fixture.path("closed")
        try alice.must("mkdir", closed, "0700", "0")
        let inside = try make(closed + "/f", "0666", by: alice)
        // What the kernel has cached for its owner lets root pass no more than others.
        for _ in 0..<3 {
            #expect(try alice.call("stat", inside).word == "ok")
            for process in [root, bob] { #expect(try process.call("open", inside, "0").word == "EACCES") }
            #expect(try root.call("names", closed).word == "EACCES" && root.call("chdir", closed).word == "EACCES")
        }
        #expect(
            try [mine, open, group, denied, named].map { try root.call("open", $0, "0").word } == ["EACCES", "ok", "EACCES", "ok", "ok"])
        #expect(try root.call("open", open, "1").word == "EACCES")
        #expect(try root.call("access", mine, "4", "0").word == "EACCES" && root.call("access", open, "4", "0").word == "ok")
        #expect(try root.call("exec", open).word == "EACCES")
        // Others are who they are.
        #expect(try [mine, open, group, denied].map { try alice.call("open", $0, "2").word } == ["ok", "ok", "ok", "EACCES"])
        #expect(try [mine, open, group].map { try bob.call("open", $0, "0").word } == ["EACCES", "ok", "ok"])
        let status = try Spawn.run([aclfs, "status", fixture.mountpoint]).output
        #expect(status.contains("rootsquash=65534"), "\(status)")
    }

    @Test func whatRootMakesIsTheUnprivilegedUsers() throws {
        let (fixture, root, alice, _) = try mount("rootsquash")
        try root.must("create", fixture.path("f"), "0600", "0")
        try root.must("mkdir", fixture.path("d"), "0700", "0")
        for name in ["f", "d"] { #expect(try ids(fixture.path(name), alice).prefix(2) == [unprivileged, "20"]) }
        // It is the owner, no more: it may change what it made, and give it to no one.
        #expect(try root.call("chmod", fixture.path("f"), "0640").word == "ok")
        #expect(try root.call("chown", fixture.path("f"), "501", "20").word == "EPERM")
        #expect(try root.call("chown", fixture.path("f"), "0", "0").word == "EPERM")
        #expect(try root.call("setxattr", fixture.path("f"), "system.aclfs.owner", GUID(group: 600).uuidText).word == "EPERM")
        #expect(try root.call("open", fixture.path("f"), "2").word == "ok" && root.call("rmdir", fixture.path("d")).word == "ok")
        #expect(try root.call("mknod", fixture.path("null"), "020666", "0", "0103").word == "EPERM")
    }

    @Test func byNogrpidTheGroupIsUnprivilegedToo() throws {
        let (fixture, root, alice, _) = try mount("rootsquash=1500,nogrpid")
        try root.must("create", fixture.path("f"), "0600", "0")
        #expect(try ids(fixture.path("f"), alice).prefix(2) == ["1500", unprivileged])
        let path = try make(fixture.path("g"), "0600", acl: "user:#1500 allow read\nuser:#65534 deny read", by: alice)
        #expect(try root.call("open", path, "0").word == "ok")
    }

    @Test func nothingIsRootsAlone() throws {
        let (fixture, root, alice, _) = try mount("rootsquash,suid")
        let path = try make(fixture.path("f"), "0666", by: alice)
        #expect(try root.call("chmod", path, "0600").word == "EPERM")
        #expect(try root.call("chown", path, "0", "0").word == "EPERM")
        #expect(try root.call("setxattr", path, "system.aclfs.acl", "").word == "EPERM")
        #expect(try root.call("unlink", fixture.path("nothing")).word == "ENOENT")
        for name in ["trusted.a", "security.a"] {
            #expect(try root.call("setxattr", path, name, "x").word == "EPERM")
            #expect(try root.call("removexattr", path, name).word == "EPERM")
        }
        // Its own file: no system flags.
        try root.must("create", fixture.path("own"), "0644", "0")
        #expect(try root.call("setxattr", fixture.path("own"), "system.aclfs.flags", "schg").word == "EPERM")
        #expect(try root.call("setxattr", fixture.path("own"), "system.aclfs.flags", "uchg").word == "ok")
        #expect(try root.call("open", fixture.path("own"), "1").word == "EPERM")
        // The sticky bit binds root: another's file stays.
        let sticky = fixture.path("sticky")
        try alice.must("mkdir", sticky, "0777", "0")
        try alice.must("chmod", sticky, "01777")
        _ = try make(sticky + "/f", "0666", by: alice)
        #expect(try root.call("unlink", sticky + "/f").word == "EACCES")
    }

    /// The kernel leaves set-id bits to root's writes, and the daemon does not: the writer is a stranger.
    @Test(arguments: ["", ",passthrough=off", ",transport=dev", ",kernel_features=-killpriv2"])
    func itsWritesClearSetIDBits(_ options: String) throws {
        let (fixture, root, alice, _) = try mount("rootsquash,suid" + options)
        func fresh(_ name: String) throws -> String {
            let path = try make(fixture.path(name), "0666", by: alice)
            try alice.must("chmod", path, "04777")
            return path
        }
        func mode(_ path: String) throws -> String? { try ids(path, alice).dropFirst(2).first }
        let written = try fresh("written")
        try root.must("hold", "1", written, "1", "0")
        try root.must("write", "1", "new")
        #expect(try mode(written) == "777")
        // Set again while the handle is open.
        try alice.must("chmod", written, "04777")
        try root.must("write", "1", "newer")
        #expect(try mode(written) == "777")
        try root.must("close", "1")
        let mapped = try fresh("mapped")
        try alice.must("truncate", mapped, "4096")
        try alice.must("chmod", mapped, "04777")
        try root.must("hold", "2", mapped, "2", "0")
        // Where no mapping is allowed, nothing was written.
        let isMapped = try root.call("map", "2").isOK
        #expect(try mode(mapped) == "777" || !isMapped)
        try root.must("close", "2")
        let cut = try fresh("cut")
        try root.must("truncate", cut, "0")
        #expect(try mode(cut) == "777")
        let opened = try fresh("opened")
        try root.must("open", opened, String(O_WRONLY | O_TRUNC))
        #expect(try mode(opened) == "777")
    }

    @Test func explanationsSayIt() throws {
        let (fixture, _, alice, _) = try mount("rootsquash")
        let path = try make(fixture.path("f"), "0600", by: alice)
        for words in [["--as", "root"], ["--as", "0"], []] {
            let result = try Spawn.run([aclfs, "explain"] + words + ["open-read", path])
            #expect(result.status == 1 && result.output.contains("posix:other"), "\(result)")
            #expect(result.output.contains("rootsquash: root is judged as uid 65534 on this mount"), "\(result)")
        }
        let other = try Spawn.run([aclfs, "explain", "--as", "501:20", "open-read", path])
        #expect(other.status == 0 && !other.output.contains("rootsquash"), "\(other)")
        // Who may ask what is decided by who asks: root sees everybody's denials, and its own under the number that they were made by.
        #expect(try Spawn.run(["cat", path]).status != 0)
        let last = try Spawn.run([aclfs, "explain", "--json", "--last", "1", fixture.mountpoint])
        #expect(last.status == 0 && last.output.contains("\"uid\":65534"), "\(last)")
        // A remount is root's, and the option is not one that changes.
        #expect(try Spawn.run(["mount", "-i", "-o", "remount,ro", fixture.mountpoint]).status == 0)
    }

    /// A second mount of the same directory without the option knows root.
    @Test func itIsTheMountsAlone() throws {
        let (fixture, root, alice, _) = try mount("rootsquash")
        let second = fixture.top + "/second"
        mkdir(second, 0o755)
        try fixture.mount(at: second)
        _ = try make(fixture.path("f"), "0600", by: alice)
        #expect(try root.call("open", fixture.path("f"), "0").word == "EACCES" && root.call("open", second + "/f", "0").word == "ok")
        try root.must("chown", second + "/f", "0", "0")
        #expect(try root.call("open", fixture.path("f"), "0").word == "EACCES")
    }
}
