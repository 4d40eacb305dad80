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
    /// Of every mount that a test makes: mount-helpers/test-paths has the same tests go each way there is.
    static let standingOptions = ProcessInfo.processInfo.environment["ACLFS_TEST_OPTIONS"] ?? ""

    /// - Returns: the path of a program of ours that was built with the tests; of `aclfs` the one that ACLFS_PROGRAM names, if any.
    static func program(_ name: String) -> String {
        if name == "aclfs", let given = ProcessInfo.processInfo.environment["ACLFS_PROGRAM"] { return given }
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let bundle = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }
}

/// A backing directory in a directory of its own, and mounts of it, which end with the fixture.
final class MountFixture {
    /// 0755: the users of the tests pass through it.
    let top: String
    /// 0700, as documented: nobody gets at the files around aclfs.
    let backing: String
    let mountpoint: String
    private(set) var mountpoints: Set<String> = []

    /// What stands before every command: where the mount is made.
    let within: [String]

    /// - Parameter options: nil = mount nothing yet.
    init(options: String? = "", within: [String] = []) throws {
        self.within = within
        var template = Array("/tmp/aclfs-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw FixtureError("mkdtemp: errno \(errno)") }
        top = String(cString: made)
        backing = top + "/private/backing"
        mountpoint = top + "/mnt"
        chmod(top, 0o755)
        mkdir(top + "/private", 0o700)
        mkdir(backing, 0o755)
        mkdir(mountpoint, 0o755)
        if let options { try mount(options) }
    }

    /// Ends the mounts whatever state they are in, and the daemons that serve them.
    deinit {
        let serving = mountpoints.flatMap { Self.daemons(of: $0) }
        for path in mountpoints {
            _ = try? Spawn.run(within + [MountTesting.program("aclfs"), "unmount", path])
            if Self.isMounted(path) || !within.isEmpty { _ = try? Spawn.run(within + ["umount", "-l", path]) }
        }
        // One daemon may serve several. One that has ended may wait for init, without a command line.
        let paths = mountpoints
        func left() -> [pid_t] { paths.flatMap { Self.daemons(of: $0) }.filter { serving.contains($0) } }
        eventually { serving.isEmpty || left().isEmpty }
        for pid in left() {
            // One that sleeps serves what somebody still holds: a process that another test started has a file of ours open. Of one that
            // is busy it is said what it is at; killed, it could tell nothing any more.
            let busy = Self.threads(of: pid).filter { $0.contains(" R ") }
            if !busy.isEmpty { Issue.record("daemon \(pid) of \(paths.sorted()) does not end: \(busy)") }
            kill(pid, SIGKILL)
        }
        // From the backing side: no ACL and no flag stands against it there.
        _ = try? Spawn.run(["rm", "-rf", "--one-file-system", top])
    }

    @discardableResult
    func mount(_ options: String = "", at path: String? = nil) throws -> CommandResult {
        let path = path ?? mountpoint
        // What a test asks for itself comes last and counts.
        let options = [MountTesting.standingOptions, options].filter { !$0.isEmpty }.joined(separator: ",")
        let words = options.isEmpty ? [] : ["-o", options]
        let result = try Spawn.run(within + [MountTesting.program("aclfs"), "mount"] + words + [backing, path])
        guard result.status == 0 else { throw FixtureError("mount -o \(options): \(result)") }
        mountpoints.insert(path)
        return result
    }

    /// `aclfs unmount`, whose result is the caller's to judge.
    @discardableResult
    func unmount(at path: String? = nil) throws -> CommandResult {
        let path = path ?? mountpoint
        let result = try Spawn.run(within + [MountTesting.program("aclfs"), "unmount", path])
        if result.status == 0 { mountpoints.remove(path) }
        return result
    }

    /// The processes that serve a mount point, by the words of their command line.
    static func daemons(of path: String) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            guard pid != getpid() else { return false }
            let words = ProcFile.text("/proc/\(pid)/cmdline").split(separator: "\0")
            return words.first?.hasSuffix("/aclfs") == true && words.contains("mount") && words.last.map(String.init) == path
        }
    }

    /// What each thread is at: its name, its state, the system call that it waits in with its arguments.
    private static func threads(of pid: pid_t) -> [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return tasks.map { task in
            let state = ProcFile.text("/proc/\(pid)/task/\(task)/stat").split(separator: ")").last?.prefix(3) ?? ""
            return ["comm", "syscall", "wchan"].map { ProcFile.text("/proc/\(pid)/task/\(task)/\($0)").prefix { $0 != "\n" } }
                .reduce("\(task)\(state)") { "\($0)\($0.hasSuffix(" ") ? "" : " ")\($1)" }
        }
    }

    static func isMounted(_ path: String) -> Bool {
        let table = ProcFile.text("/proc/self/mounts")
        return table.split(separator: "\n").contains { $0.contains(" \(path) ") }
    }

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
