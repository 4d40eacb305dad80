import Foundation
import Glibc
import TestSupport
import Testing

/// Requests of which the daemon cannot learn the caller's groups: unknown membership allows nothing and fits every deny
/// (docs/reference/security.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BorrowedCredentialTests {
    private func makeFiles(_ fixture: MountFixture) throws {
        let root = try ActingProcess(.root)
        for (name, mode, acl) in [
            ("open", "0644", ""), ("primary", "0040", ""), ("group", "0040", ""), ("entry", "0600", "group:#601 allow read"),
            ("deny", "0644", "group:#600 deny read"), ("user", "0600", "user:#502 allow read"),
        ] {
            try root.must("create", fixture.path(name), mode, "0")
            try root.must("chown", fixture.path(name), "0", name == "primary" ? "20" : "601")
            if !acl.isEmpty { try root.must("setxattr", fixture.path(name), "system.aclfs.acl", acl) }
        }
    }

    private func opened(_ fixture: MountFixture, _ user: TestUser) throws -> String {
        let process = try ActingProcess(user)
        return try ["open", "primary", "group", "entry", "deny", "user"].map { name in
            "\(name) \(try process.call("open", fixture.path(name), "0").word)"
        }.joined(separator: ", ")
    }

    /// A daemon in a PID namespace of its own is told the number 0 for every caller outside.
    @Test func aCallerWithoutANumber() throws {
        let fixture = try MountFixture()
        try makeFiles(fixture)
        #expect(try opened(fixture, .bob) == "open ok, primary ok, group ok, entry ok, deny ok, user ok")
        #expect(try fixture.unmount().status == 0)
        let daemon = try Spawn.start(
            [
                "unshare", "--pid", "--fork", "--kill-child", "--", MountTesting.program("aclfs"), "mount", "-f", fixture.backing,
                fixture.mountpoint,
            ],
            descriptors: [-1, -1, -1])
        defer {
            // unshare(1) heeds no SIGTERM; its child goes with it.
            kill(daemon, SIGKILL)
            _ = Spawn.wait(daemon)
            _ = try? Spawn.run(["umount", "-l", fixture.mountpoint])
        }
        eventually { MountFixture.isMounted(fixture.mountpoint) }
        try #require(MountFixture.isMounted(fixture.mountpoint))
        // uid and primary group come with the request; of the rest nothing is known.
        #expect(try opened(fixture, .bob) == "open ok, primary ok, group EACCES, entry EACCES, deny EACCES, user ok")
        // Nothing is known of root's capabilities either: it opens what uid 0 may.
        #expect(try ActingProcess(.root).call("open", fixture.path("group"), "0").word == "EACCES")
        #expect(try ActingProcess(.root).call("open", fixture.path("user"), "0").isOK)
    }

    /// A personality of io_uring: alice's ids come from a process of bob's, whose groups say nothing of her.
    @Test func throughAPersonality() throws {
        let fixture = try MountFixture()
        try makeFiles(fixture)
        let root = try ActingProcess(.root)
        try root.must("create", fixture.path("hers"), "0600", "0")
        try root.must("chown", fixture.path("hers"), "501", "20")
        func borrowed(_ name: String) throws -> String {
            try root.call("borrowed", fixture.path(name), "501", "502", "20", "600", "601").word
        }
        let first = try borrowed("hers")
        if first == "ENOSYS" || first == "EPERM" {
            withKnownIssue("io_uring cannot be used here") { Issue.record("\(first)") }
            return
        }
        #expect(first == "ok")
        #expect(try borrowed("open") == "ok" && borrowed("primary") == "ok")
        // 601 is bob's group and 600 is alice's: neither counts for what she may, both may be what is denied.
        for name in ["group", "entry", "deny", "user"] { #expect(try borrowed(name) == "EACCES", "\(name)") }
        try root.must("setxattr", fixture.path("open"), "system.aclfs.acl", "group:#601 deny read")
        #expect(try borrowed("open") == "EACCES")
        // As themselves: bob by his group, and alice not.
        #expect(try ActingProcess(.bob).call("open", fixture.path("group"), "0").isOK)
        #expect(try ActingProcess(.alice).call("open", fixture.path("deny"), "0").word == "EACCES")
    }

    /// An overlay acts with the credentials of who mounted it, in the thread of who asks.
    @Test func throughAnOverlay() throws {
        let fixture = try MountFixture()
        try makeFiles(fixture)
        let places = ["upper", "work", "over"].map { fixture.top + "/private/" + $0 }
        for place in places { mkdir(place, 0o755) }
        let over = fixture.top + "/over"
        mkdir(over, 0o755)
        let options = "lowerdir=\(fixture.mountpoint),upperdir=\(places[0]),workdir=\(places[1])"
        let mounted = try Spawn.run(["mount", "-t", "overlay", "-o", options, "overlay", over])
        guard mounted.status == 0 else { throw FixtureError("no overlay here: \(mounted)") }
        defer { _ = try? Spawn.run(["umount", "-l", over]) }
        let bob = try ActingProcess(.bob)
        // Modes are the overlay's to check, by bob's own identity; what entries say of bob it cannot know.
        #expect(try bob.call("open", over + "/open", "0").isOK)
        #expect(try bob.call("open", over + "/entry", "0").word == "EACCES")
        #expect(try bob.call("open", over + "/user", "0").word == "EACCES")
        // Root's rights, without bob's or root's groups: a flag stops them still.
        let root = try ActingProcess(.root)
        try root.must("setxattr", fixture.path("open"), "system.aclfs.flags", "uchg")
        #expect(try bob.call("open", over + "/open", "0").isOK)
        #expect(try root.call("open", fixture.path("open"), String(O_WRONLY)).word == "EPERM")
        // And the store stays hidden from whoever stacks on it.
        #expect(try root.call("getxattr", over + "/user", "trusted.aclfs").word == "EPERM")
    }
}
