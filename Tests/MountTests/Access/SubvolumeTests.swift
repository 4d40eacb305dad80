import Foundation
import Glibc
import TestSupport
import Testing

/// Subvolumes of Btrfs have device numbers that no mount table knows; they are part of the tree, and no mounts.
@Suite(
    .serialized,
    .enabled(if: BackingKind.reserving.contains(.btrfs), "needs root, /dev/fuse, loop devices, mkfs.btrfs and the kernel's btrfs"))
struct SubvolumeTests {
    @Test(arguments: ["nocrossmounts", "cache=auto", "cache=strict,passthrough=off"])
    func theyAreDirectoriesOfTheTree(_ options: String) throws {
        let fixture = try ZeroFillFixture(.btrfs, options)
        let path = fixture.backingPath("sub")
        for command in [
            ["btrfs", "-q", "subvolume", "create", path], ["chmod", "1777", path],
            ["sh", "-c", "echo first > \(path)/f; chmod 666 \(path)/f"],
            ["btrfs", "-q", "subvolume", "snapshot", path, fixture.backingPath("then")],
            ["sh", "-c", "echo second > \(path)/f"],
        ] {
            let result = try Spawn.run(command)
            try #require(result.status == 0, "\(command): \(result)")
        }
        let alice = try ActingProcess(.alice)
        // The same inode number, two objects.
        #expect(try String(contentsOfFile: fixture.path("sub/f"), encoding: .utf8) == "second\n")
        #expect(try String(contentsOfFile: fixture.path("then/f"), encoding: .utf8) == "first\n")
        #expect(try fixture.status("sub/f", onMount: true).st_ino != fixture.status("then/f", onMount: true).st_ino)
        try alice.must("create", fixture.path("sub/new"), "0600", "0")
        #expect(try alice.call("rename", fixture.path("sub/new"), fixture.path("new"), "0").word == "EXDEV")
        try alice.must("setxattr", fixture.path("sub/new"), "system.aclfs.acl", "user:502 allow read")
        #expect(try ActingProcess(.bob).call("open", fixture.path("sub/new"), String(O_RDONLY), "0").word == "ok")
        #expect(try ActingProcess(.carol).call("open", fixture.path("sub/new"), String(O_RDONLY), "0").word == "EACCES")
        try alice.must("unlink", fixture.path("sub/new"))
    }
}
