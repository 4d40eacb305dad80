import Foundation
import Glibc
import TestSupport
import Testing

/// A daemon is killed at one system call of a creation, and the next mount removes what it left (docs/decisions/0022-creation-notes.md).
@Suite(.serialized, .enabled(if: CrashTesting.isPossible, "needs root, /dev/fuse and strace that may trace"))
struct CrashLeftoverTests {
    /// What happens to the daemon when it gives an object to its owner.
    private enum Moment: String {
        case before = "signal=SIGKILL"
        /// It waits there, long enough to be killed.
        case after = "delay_exit=60000000"
    }

    /// - Parameter left: what there is when the daemon is to die, after the moment.
    private func crash(
        _ fixture: MountFixture, _ user: TestUser, at moment: Moment = .before, _ words: [String],
        when left: @Sendable @escaping () -> Bool = { true }
    ) throws {
        let process = try ActingProcess(user)
        let (tracer, daemon) = try CrashTesting.trace(fixture.mountpoint, ["fchownat"], "\(moment.rawValue):when=1")
        if moment == .after {
            Foundation.Thread.detachNewThread {
                eventually(left)
                kill(daemon, SIGKILL)
                // Else the daemon is not gone before the tracer looks, when the time is over.
                kill(tracer, SIGKILL)
            }
        }
        let result = try process.call(words)
        // The tracer ends with what it watches.
        let hasEnded = eventually { !FileManager.default.fileExists(atPath: "/proc/\(daemon)") }
        if !hasEnded { kill(tracer, SIGKILL) }
        _ = Spawn.wait(tracer)
        #expect(hasEnded && !result.isOK, "\(words): \(result)")
        try fixture.unmount()
    }

    private func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private static let calls: [(name: String, words: @Sendable (String) -> [String])] = [
        ("file", { ["create", $0, "0644"] }), ("directory", { ["mkdir", $0, "0755"] }),
        ("link", { ["symlink", "target", $0] }), ("fifo", { ["mkfifo", $0, "0644"] }),
    ]

    @Test(arguments: [TestUser.alice, .root]) func whatWasNotGivenToItsOwnerYetIsRemoved(_ user: TestUser) throws {
        let fixture = try MountFixture(options: nil)
        chmod(fixture.backing, 0o777)
        // What root creates where the group is root's, too, is root's from the beginning.
        mkdir(fixture.backing + "/g", 0o777)
        chown(fixture.backing + "/g", 0, 501)
        for (name, words) in user.uid == 0 ? [("g/file", Self.calls[0].words)] : Self.calls {
            try fixture.mount("restarts=0")
            try crash(fixture, user, words(fixture.path(name)))
            let left = try #require(status(fixture.backing + "/" + name), "\(name)")
            #expect(left.st_uid == (user.uid == 0 ? 0 : 4_294_967_294), "\(name)")
            try fixture.mount("restarts=0")
            #expect(status(fixture.backing + "/" + name) == nil, "\(name)")
            #expect(status(fixture.path(name)) == nil, "\(name)")
            try fixture.unmount()
        }
    }

    /// Its record is there, and its owner, but not its mode.
    @Test func whatHasItsOwnerButNotItsModeIsRemoved() throws {
        let fixture = try MountFixture(options: nil)
        chmod(fixture.backing, 0o777)
        try fixture.mount("restarts=0")
        try ActingProcess(.root).must(
            "setxattr", fixture.mountpoint, "system.aclfs.acl", "user:#503 deny read,file_inherit,directory_inherit")
        let path = fixture.backing + "/d"
        try crash(fixture, .alice, at: .after, ["mkdir", fixture.path("d"), "0755"]) {
            var status = stat()
            return lstat(path, &status) == 0 && status.st_uid == 501
        }
        let left = try #require(status(fixture.backing + "/d"))
        #expect(left.st_uid == 501 && left.st_mode & 0o777 == 0o700)
        try fixture.mount("restarts=0")
        #expect(status(fixture.backing + "/d") == nil)
        let alice = try ActingProcess(.alice)
        try alice.must("mkdir", fixture.path("d"), "0755")
        #expect(status(fixture.backing + "/d")?.st_mode == S_IFDIR | 0o755)
    }

    /// On a file system that a server judges, what is half made belongs to root.
    @Test(.enabled(if: CrashTesting.hasBindfs, "needs bindfs")) func onAFileSystemOfAServer() throws {
        let fixture = try MountFixture(options: nil)
        let below = fixture.top + "/private/below"
        mkdir(below, 0o777)
        chmod(below, 0o777)
        mkdir(below + "/deep", 0o777)
        chmod(below + "/deep", 0o777)
        defer { _ = try? Spawn.run(["umount", "-l", fixture.backing]) }
        let bound = try Spawn.run(["bindfs", below, fixture.backing])
        #expect(bound.status == 0, "\(bound)")
        try fixture.mount("restarts=0")
        try crash(fixture, .alice, ["mkdir", fixture.path("deep/d"), "0755"])
        #expect(try #require(status(below + "/deep/d")).st_uid == 0)
        // Anew, with other handles and another device.
        #expect(try Spawn.run(["umount", fixture.backing]).status == 0)
        #expect(try Spawn.run(["bindfs", below, fixture.backing]).status == 0)
        try fixture.mount("restarts=0")
        #expect(status(below + "/deep/d") == nil)
        try fixture.unmount()
    }
}

/// Daemons that are stopped, delayed or killed at a system call.
enum CrashTesting {
    static let isPossible: Bool = {
        guard MountTesting.isPossible else { return false }
        let tried = try? Spawn.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=fchownat", "true"])
        return tried?.status == 0
    }()

    /// Traces the daemon of a mount; returns when all its threads are traced.
    /// - Parameter injected: what happens at each of the calls, as strace(1) writes it.
    static func trace(_ mountpoint: String, _ calls: [String], _ injected: String) throws -> (tracer: pid_t, daemon: pid_t) {
        let daemon = try #require(MountFixture.daemons(of: mountpoint).first)
        let injections = calls.flatMap { ["-e", "inject=\($0):\(injected)"] }
        let tracer = try Spawn.start(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls.joined(separator: ",")] + injections + ["-p", "\(daemon)"],
            descriptors: [-1, -1, -1])
        let isTraced = eventually {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")) ?? []
            return !tasks.isEmpty
                && tasks.allSatisfy { ProcFile.text("/proc/\(daemon)/task/\($0)/status").contains("TracerPid:\t\(tracer)\n") }
        }
        if !isTraced {
            kill(tracer, SIGKILL)
            throw FixtureError("the daemon is not traced")
        }
        return (tracer, daemon)
    }

    static let hasBindfs = (try? Spawn.run(["sh", "-c", "command -v bindfs"]))?.status == 0
}
