import Foundation
import Glibc
import TestSupport
import Testing

/// docs/internals/architecture.md I7: a directory of the source that an aclfs mount stands on shows nothing and takes nothing, so that the
/// daemon never asks itself; what lies under it is left alone.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CoveredDirectoryTests {
    private func check(_ path: String, _ root: ActingProcess) throws {
        #expect(try Spawn.run(["ls", "-A", path]).output == "")
        #expect(try root.call("stat", path + "/under").word == "ENOENT")
        #expect(try root.call("create", path + "/new", "0644", "0").word == "EROFS")
        #expect(try root.call("mkdir", path + "/new", "0755", "0").word == "EROFS")
        #expect(try root.call("rmdir", path).word == "EBUSY")
        #expect(try root.call("rename", path, path + "2", "0").word == "EBUSY")
        #expect(try root.call("symlink", "target", path + "/new").word == "EROFS")
    }

    @Test func aMountPointInsideTheSource() throws {
        let fixture = try MountFixture(options: nil)
        let inside = fixture.backing + "/inside"
        mkdir(inside, 0o755)
        #expect(FileManager.default.createFile(atPath: inside + "/under", contents: Data("kept".utf8)))
        try fixture.mount("", at: inside)
        let root = try ActingProcess(.root)
        try check(inside + "/inside", root)
        try fixture.unmount(at: inside)
        #expect(FileManager.default.contents(atPath: inside + "/under") == Data("kept".utf8))
    }

    /// With `nocrossmounts` so does whatever is mounted below the source, also a part of the same file system.
    @Test func otherMountsThatAreNoPartOfTheTree() throws {
        let fixture = try MountFixture(options: nil)
        for name in ["tmpfs", "bind", "there"] { mkdir(fixture.backing + "/" + name, 0o755) }
        for name in ["tmpfs", "bind"] {
            #expect(FileManager.default.createFile(atPath: fixture.backing + "/\(name)/under", contents: nil))
        }
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "none", fixture.backing + "/tmpfs"]).status == 0)
        defer { _ = try? Spawn.run(["umount", "-l", fixture.backing + "/tmpfs"]) }
        #expect(try Spawn.run(["mount", "--bind", fixture.backing + "/there", fixture.backing + "/bind"]).status == 0)
        defer { _ = try? Spawn.run(["umount", "-l", fixture.backing + "/bind"]) }
        let root = try ActingProcess(.root)
        try fixture.mount("nocrossmounts")
        try check(fixture.path("tmpfs"), root)
        try check(fixture.path("bind"), root)
        try fixture.unmount()
        try fixture.mount()
        try root.must("create", fixture.path("tmpfs/new"), "0644", "0")
        try root.must("create", fixture.path("bind/new"), "0644", "0")
        try root.must("stat", fixture.path("there/new"))
        try fixture.unmount()
    }

    /// What is mounted later is seen, although the directory above was found from below a mount or from another one,
    /// which is gone: a descriptor of there sees nothing that is mounted here.
    @Test(arguments: ["cache=auto,nocrossmounts", "cache=auto"])
    func whatIsMountedBelowADirectoryThatWasFoundElsewhere(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let back = fixture.backing
        for name in ["place/in", "other"] { #expect(try Spawn.run(["mkdir", "-p", "\(back)/\(name)"]).status == 0) }
        #expect(FileManager.default.createFile(atPath: back + "/place/in/hidden", contents: Data("h".utf8)))
        let bob = try ActingProcess(.bob)
        let hidden = fixture.path("place/in/hidden")
        if !options.contains("nocrossmounts") {
            #expect(try Spawn.run(["mount", "--bind", back + "/place", back + "/other"]).status == 0)
            #expect(eventually(within: 5) { (try? bob.call("stat", fixture.path("other/in/hidden")).word) == "ok" })
            #expect(try Spawn.run(["umount", "-l", back + "/other"]).status == 0)
        } else {
            #expect(try Spawn.run(["mount", "-t", "tmpfs", "none", back + "/place"]).status == 0)
            usleep(100_000)
            #expect(try Spawn.run(["ls", "-la", fixture.path("place")]).status == 0)
            #expect(try Spawn.run(["umount", "-l", back + "/place"]).status == 0)
        }
        #expect(eventually(within: 5) { (try? bob.call("stat", hidden).word) == "ok" })
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "none", back + "/place/in"]).status == 0)
        defer { _ = try? Spawn.run(["umount", "-l", back + "/place/in"]) }
        #expect(eventually(within: 3) { (try? bob.call("stat", hidden).word) == "ENOENT" })
    }
}
