import Foundation
import Glibc
import TestSupport

/// Whether file systems can be made in a file and mounted here.
enum LoopTesting {
    static let missing: String? = {
        let reason: String?
        if let missing = MountTesting.missing {
            reason = missing
        } else if access("/dev/loop-control", R_OK) != 0 {
            reason = "no loop devices"
        } else if (try? Spawn.run(["mkfs.ext4", "-V"]))?.status != 0 {
            reason = "no mkfs.ext4 (apt install e2fsprogs)"
        } else {
            reason = nil
        }
        if let reason { print("the tests of space did not run: \(reason)") }
        return reason
    }()
    static var isPossible: Bool { missing == nil }
}

/// A small ext4 in a file, mounted.
final class LoopFileSystem {
    let directory: String
    private let image: String

    convenience init(image: String, at directory: String, options: [String], megabytes: Int = 32) throws {
        // One seed for all, so that equal names make equal directories.
        let seed = ["-E", "hash_seed=6b0a7c1e-3f52-4d18-9a44-0d5b8e2f7c31"]
        try self.init(
            image: image, at: directory, maker: ["mkfs.ext4", "-q", "-F"] + options + seed, megabytes: megabytes,
            finally: [["rmdir", directory + "/lost+found"]])
    }

    /// - Parameters:
    ///   - maker: the command that makes the file system, without the name of the image.
    ///   - finally: commands that are run when it is mounted.
    init(image: String, at directory: String, maker: [String], megabytes: Int, finally: [[String]]) throws {
        (self.image, self.directory) = (image, directory)
        let commands = [
            ["truncate", "-s", "\(megabytes)M", image], maker + [image], ["mount", "-o", "loop", image, directory],
        ]
        for command in commands + finally {
            let result = try Spawn.run(command)
            guard result.status == 0 else { throw FixtureError("\(command): \(result)") }
        }
    }

    deinit {
        // Lazily: a daemon that was killed may hold it a moment longer.
        _ = try? Spawn.run(["umount", "-l", directory])
        unlink(image)
    }

    /// Free kilobytes: all, and those that are not reserved for root.
    var free: (all: UInt64, forUsers: UInt64) {
        var status = statvfs()
        _ = statvfs(directory, &status)
        let unit = UInt64(status.f_frsize)
        return (UInt64(status.f_bfree) * unit / 1024, UInt64(status.f_bavail) * unit / 1024)
    }
}

/// Two equal file systems: one used as it is, one through aclfs.
final class SpaceFixture {
    private(set) var mount: MountFixture?
    private(set) var native: LoopFileSystem?
    private(set) var backing: LoopFileSystem?
    private let images: ScratchDirectory
    /// What the mount command said.
    let warning: String

    /// The directories that users write into: open to all, sticky.
    var nativePlace: String { mount.map { $0.top + "/native/d" } ?? "" }
    var place: String { mount?.path("d") ?? "" }
    var backingPlace: String { mount.map { $0.backing + "/d" } ?? "" }

    init(_ options: [String] = ["-b", "4096", "-m", "20"], mountOptions: String = "") throws {
        images = try ScratchDirectory("space", in: "/var/tmp")
        let fixture = try MountFixture(options: nil)
        mount = fixture
        mkdir(fixture.top + "/native", 0o755)
        native = try LoopFileSystem(image: images.path + "/native", at: fixture.top + "/native", options: options)
        backing = try LoopFileSystem(image: images.path + "/backing", at: fixture.backing, options: options)
        for top in [fixture.top + "/native", fixture.backing] {
            mkdir(top + "/d", 0o1777)
            chmod(top + "/d", 0o1777)
        }
        warning = try fixture.mount(mountOptions).output
    }

    deinit {
        // From the top of the stack down; the fixture then finds its directory empty.
        if let mount { for path in mount.mountpoints { _ = try? mount.unmount(at: path) } }
        native = nil
        backing = nil
        mount = nil
    }

    /// Says what a script gives on both; `$D` is the directory.
    func both(_ user: TestUser, _ script: String) throws -> (native: String, mount: String) {
        (
            try user.shell("D=\(nativePlace); \(script)").output, try user.shell("D=\(place); \(script)").output
        )
    }
}
