import Foundation
import Glibc
import TestSupport
import Testing

/// What tests of objects at rest ask of a mount.
enum WatchedMount {
    /// What a caller sees of an object; its errno if there is none.
    static func seen(_ path: String) -> [Int] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [Int(errno)] }
        return [
            Int(status.st_mode), Int(status.st_nlink), Int(status.st_uid), Int(status.st_gid), Int(status.st_size), status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec, Int(truncatingIfNeeded: status.st_ino),
        ]
    }

    static func number(_ name: String, _ fixture: MountFixture) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint]).output
        let range = try #require(said.range(of: "\"\(name)\":"), "\(said)")
        return try #require(Int(said[range.upperBound...].prefix { $0.isNumber }))
    }

    static func must(_ script: String, in fixture: MountFixture) throws {
        let result = try Spawn.run(["bash", "-ec", "cd $0; \(script)", fixture.backing])
        #expect(result.status == 0, "\(script): \(result)")
    }

    /// Asks until the kernel answers by itself.
    /// - Parameter paths: more than a few, or the command's own requests count as much.
    static func settle(_ paths: [String], _ fixture: MountFixture) throws {
        let rests = try eventually(within: 30) {
            let before = try number("allowed", fixture)
            for path in paths { _ = seen(fixture.path(path)) }
            usleep(1_300_000)
            // The command looks at the mount point itself.
            return try number("allowed", fixture) - before <= 3
        }
        #expect(rests, "the kernel still asks")
    }
}
