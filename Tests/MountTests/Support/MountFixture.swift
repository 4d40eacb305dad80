import Foundation
import Glibc
import TestSupport
import Testing

/// Whether mounts can be tested here. What is missing is printed once.
enum MountTesting {
    static let missing: String? = {
        let reason: String?
        if geteuid() != 0 {
            reason = "not root"
        } else if access("/dev/fuse", R_OK | W_OK) != 0 {
            reason = "no /dev/fuse"
        } else if access(program("aclfs"), X_OK) != 0 || access(program("aclfs-act"), X_OK) != 0 {
            reason = "the programs are not built next to the tests"
        } else {
            reason = nil
        }
        if let reason { print("MountTests did not run: \(reason)") }
        return reason
    }()
    static var isPossible: Bool { missing == nil }
    static let isLong = ProcessInfo.processInfo.environment["ACLFS_TEST_LONG"] == "1"
    /// Of every mount that a test makes: Scripts/test-paths has the same tests go each way there is.
    static let standingOptions = ProcessInfo.processInfo.environment["ACLFS_TEST_OPTIONS"] ?? ""

    /// - Returns: the path of a program that was built with the tests, or of the one that ACLFS_PROGRAM names.
    static func program(_ name: String) -> String { BuiltProgram.path(name) }
}

/// A backing directory in a directory of its own, and mounts of it, which end with the fixture.
final class MountFixture {
    /// 0755: the users of the tests pass through it.
    var top: String { mounts.directory.path }
    /// 0700, as documented: nobody gets at the files around aclfs.
    let backing: String
    let mountpoint: String
    var mountpoints: Set<String> { mounts.places }
    /// What stands before every command: where the mount is made.
    var within: [String] { mounts.within }
    private let mounts: TestMounts

    /// - Parameter options: nil = mount nothing yet.
    init(options: String? = "", within: [String] = []) throws {
        mounts = try TestMounts("test", within: within) { Issue.record(Comment(rawValue: $0)) }
        _ = mounts.directory.directory("private", mode: 0o700)
        backing = mounts.directory.directory("private/backing")
        mountpoint = mounts.directory.directory("mnt")
        if let options { try mount(options) }
    }

    /// - Parameters:
    ///   - source: what is mounted: `backing` if it is not said.
    ///   - path: where: `mountpoint` if it is not said.
    @discardableResult
    func mount(_ options: String = "", of source: String? = nil, at path: String? = nil) throws -> CommandResult {
        // What a test asks for itself comes last and counts.
        let options = [MountTesting.standingOptions, options].filter { !$0.isEmpty }.joined(separator: ",")
        return try mounts.mount(source ?? backing, at: path ?? mountpoint, options)
    }

    /// `aclfs unmount`, whose result is the caller's to judge.
    @discardableResult
    func unmount(at path: String? = nil) throws -> CommandResult { try mounts.unmount(path ?? mountpoint) }

    /// The processes that serve a mount point, by the words of their command line.
    static func daemons(of path: String) -> [pid_t] { TestMounts.daemons(of: path) }

    /// Kills them and their keepers, which would start others.
    static func killDaemons(of path: String) { TestMounts.killDaemons(of: path) }

    static func isMounted(_ path: String) -> Bool { TestMounts.isMounted(path) }

    /// Waits until no gap is being looked at.
    func untilNothingWaits() throws {
        let ended = try eventually {
            try Spawn.run([MountTesting.program("aclfs"), "status", mountpoint]).output.contains("files_waiting 0")
        }
        if !ended { throw FixtureError("there are still files whose gaps wait") }
    }

    /// The path of a name on the mount.
    func path(_ name: String) -> String { mountpoint + "/" + name }
}
