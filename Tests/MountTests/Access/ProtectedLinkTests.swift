import Glibc
import TestSupport
import Testing

/// Hard links with fs.protected_hardlinks=1: on the mount the same are refused as by the file system itself, and of those that entries
/// decide the ones that may not be read and written (docs/reference/authorization.md Q23).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ProtectedLinkTests {
    /// The setting is the whole machine's, so it stays as it is; without it the kernel lets all pass natively, and so must we.
    private static let isOn = ProcFile.text("/proc/sys/fs/protected_hardlinks").hasPrefix("1")

    /// Made in two directories that all users may write.
    private static let objects: [(name: String, make: String)] = [
        ("closed", "touch closed; chmod 600 closed"), ("readable", "touch readable; chmod 644 readable"),
        ("writable", "touch writable; chmod 622 writable"), ("open", "touch open; chmod 666 open"), ("team", "touch team; chmod 660 team"),
        ("suid", "touch suid; chmod 4777 suid"), ("sgid", "touch sgid; chmod 2777 sgid"), ("locked", "touch locked; chmod 2767 locked"),
        ("fifo", "mkfifo -m 666 fifo"), ("link", "ln -s nowhere link"),
    ]

    @Test(arguments: ["suid,special=open", "suid,special=open,cache=strict,transport=dev"])
    func refusesWhatTheFileSystemItselfRefuses(_ options: String) throws {
        let fixture = try MountFixture(options: nil)
        let native = fixture.top + "/native"
        mkdir(native, 0o755)
        for top in [fixture.backing, native] {
            let script = Self.objects.map(\.make).joined(separator: "\n")
            let made = try Spawn.run(["sh", "-ec", "cd \(top); umask 0; \(script); chown -h 501:20 *; chmod 777 ."])
            #expect(made.status == 0, "\(made)")
            // chown took them.
            #expect(try Spawn.run(["sh", "-ec", "cd \(top); chmod 4777 suid; chmod 2777 sgid; chmod 2767 locked"]).status == 0)
        }
        try fixture.mount(options)
        for user in [TestUser.alice, .bob, TestUser(uid: 504, gid: 21, groups: [21]), .root] {
            let process = try ActingProcess(user)
            for object in Self.objects {
                let expected = try process.call("link", "\(native)/\(object.name)", "\(native)/\(object.name)-\(user.uid)")
                let answer = try process.call("link", fixture.path(object.name), fixture.path("\(object.name)-\(user.uid)"))
                #expect(answer == expected, "uid \(user.uid): \(object.name)")
            }
        }
    }

    @Test func entriesCountAndExplainSaysWhy() throws {
        let fixture = try MountFixture()
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        try root.must("chmod", fixture.mountpoint, "0777")
        for (name, mode, list) in [
            ("given", "0600", "user:#502 allow read,write"), ("taken", "0666", "user:#502 deny write"),
            ("half", "0600", "user:#502 allow read"),
        ] {
            try root.must("create", fixture.path(name), "0600", "0")
            try root.must("chmod", fixture.path(name), mode)
            try root.must("setxattr", fixture.path(name), "system.aclfs.acl", list)
        }
        #expect(try bob.call("link", fixture.path("given"), fixture.path("given2")).word == "ok")
        for name in ["taken", "half"] {
            let expected = Self.isOn ? "EPERM" : "ok"
            #expect(try bob.call("link", fixture.path(name), fixture.path(name + "2")).word == expected, "\(name)")
        }
        guard Self.isOn else { return }
        let aclfs = MountTesting.program("aclfs")
        let said = try Spawn.run([aclfs, "explain", "--as", "502", "link", fixture.path("taken"), fixture.path("new")])
        #expect(said.output.contains("precondition:protected_link") && said.output.contains("denied: EPERM"), "\(said)")
        let last = try TestUser.bob.run(aclfs, "explain", "--last", fixture.mountpoint)
        #expect(last.output.contains("link") && last.output.contains("precondition:protected_link"), "\(last)")
    }
}
