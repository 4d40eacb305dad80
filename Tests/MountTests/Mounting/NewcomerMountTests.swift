import Foundation
import Glibc
import TestSupport
import Testing

/// Sizes, mounts below and beside, and a mount that is taken away while it is used.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct NewcomerMountTests {
    @Test func sizesAreThoseOfTheBackingFileSystem() throws {
        let fixture = try MountFixture(options: nil)
        // A file system of its own: nothing else changes its numbers.
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=5000,mode=755", "tmpfs", fixture.backing]).status == 0)
        defer {
            _ = try? fixture.unmount()
            _ = try? Spawn.run(["umount", "-l", fixture.backing])
        }
        try fixture.mount()
        let place = fixture.path("d")
        #expect(try Spawn.run(["sh", "-c", "mkdir \(place) && chown 501:20 \(place)"]).status == 0)
        let work =
            "cd \(place) && head -c 5000000 /dev/zero >f && truncate -s 9000000 sparse && mkdir d && head -c 70000 /dev/zero >d/g && sync ."
        #expect(try TestUser.alice.shell(work).status == 0)
        let columns = "--output=size,used,avail,itotal,iused,iavail"
        let native = try Spawn.run(["df", "-B1", columns, fixture.backing])
        #expect(try TestUser.alice.run("df", "-B1", columns, place).output == native.output)
        #expect(native.output.contains("67108864"))
        let blocks = try Spawn.run(["du", "-s", "-B512", fixture.backing + "/d"]).output.split(separator: "\t")[0]
        #expect(try TestUser.alice.run("du", "-s", "-B512", place).output.split(separator: "\t")[0] == blocks)
        #expect(Int(blocks) ?? 0 > 9900)
        #expect(try TestUser.alice.run("df", "--output=fstype", place).output.hasSuffix("fuse.aclfs"))
    }

    /// Bound elsewhere a part of the mount is judged as before; what is bound into it is not judged by aclfs.
    @Test func bindMounts() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let bob = try ActingProcess(.bob)
        let (outside, elsewhere) = (fixture.top + "/outside", fixture.top + "/elsewhere")
        for path in [outside, elsewhere] { mkdir(path, 0o755) }
        #expect(FileManager.default.createFile(atPath: outside + "/f", contents: Data("outside".utf8)))
        for name in ["d", "d/below"] { try root.must("mkdir", fixture.path(name), "0755", "0") }
        for name in ["f", "d/f", "d/below/f"] { try root.must("create", fixture.path(name), "0644", "0") }
        try root.must("setxattr", fixture.path("d/f"), "system.aclfs.acl", "user:#502 deny read")
        for (from, to) in [(outside, fixture.path("d/below")), (fixture.path("d"), elsewhere)] {
            #expect(try Spawn.run(["mount", "--bind", from, to]).status == 0)
        }
        defer { for path in [elsewhere, fixture.path("d/below")] { _ = try? Spawn.run(["umount", "-l", path]) } }
        // A right that is taken before would detach it (docs/internals/coherence.md "The price of a bump").
        func status() throws -> String { try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint]).output }
        eventually { (try? status()).map { $0.contains("a mount stands below") && !$0.contains("being invalidated") } ?? false }
        #expect(try status().contains(#"["a mount stands below"]"#))
        #expect(try TestUser.bob.run("cat", fixture.path("d/below/f")).output == "outside")
        // Bound without what is mounted below it.
        #expect(try TestUser.bob.run("cat", elsewhere + "/below/f").output == "")
        for path in [fixture.path("d/f"), elsewhere + "/f"] {
            #expect(try bob.call("open", path, "0").word == "EACCES")
            #expect(try bob.call("create", path + "2", "0644", "0").word == "EACCES")
        }
        try root.must("removexattr", fixture.path("d/f"), "system.aclfs.acl")
        #expect(try bob.call("open", elsewhere + "/f", "0").isOK)
        try root.must("setxattr", fixture.path("d"), "system.aclfs.acl", "user:#502 deny search")
        for path in [fixture.path("d/f"), elsewhere + "/f"] { #expect(try bob.call("open", path, "0").word == "EACCES") }
        try root.must("removexattr", fixture.path("d"), "system.aclfs.acl")
        // With a mount below it, the mount is busy; without, it goes.
        #expect(try Spawn.run(["umount", fixture.mountpoint]).status == 32)
        for path in [elsewhere, fixture.path("d/below")] { #expect(try Spawn.run(["umount", path]).status == 0) }
        #expect(try fixture.unmount().status == 0)
    }

    /// Detached it serves each process that still has a file, and the daemon ends with the last of them.
    @Test func lazilyUnmountedWhileInUse() throws {
        let fixture = try MountFixture()
        let alice = try ActingProcess(.alice)
        try ActingProcess(.root).must("chmod", fixture.mountpoint, "01777")
        try alice.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0600")
        let serving = MountFixture.daemons(of: fixture.mountpoint)
        #expect(serving.count == 1)
        #expect(try Spawn.run(["umount", "-l", fixture.mountpoint]).status == 0)
        try alice.must("write", "1", "still")
        #expect(try alice.must("pread", "1", "0") == "still")
        #expect(MountFixture.daemons(of: fixture.mountpoint) == serving)
        try alice.must("close", "1")
        eventually { MountFixture.daemons(of: fixture.mountpoint).isEmpty }
        #expect(MountFixture.daemons(of: fixture.mountpoint) == [])
        #expect(try String(contentsOfFile: fixture.backing + "/f", encoding: .utf8) == "still")
        try fixture.mount()
        #expect(try TestUser.alice.run("cat", fixture.path("f")).output == "still")
    }
}
