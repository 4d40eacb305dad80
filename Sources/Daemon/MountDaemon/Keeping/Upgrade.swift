import ACLFileSystem
import CKeeper
import FuseSession
import Glibc
import LinuxSystem
import Mounting
import Synchronization
import ToolSupport

/// `aclfs upgrade`: the daemon ends, and the program as it is now serves the same connection (docs/decisions/0042-an-upgrade-nobody-notices.md).
package enum Upgrade {
    /// The word with which a daemon asks a program whether it understands what daemons leave.
    package static let word = "understands"

    /// - Parameter words: the versions of a daemon's state.
    /// - Returns: the exit status: 0 if this program can go on from it.
    package static func answer(_ words: [String]) -> Int32 { words == versions ? 0 : 1 }

    private static let versions = ["\(ACLFS_KEPT_VERSION)", "\(SavedTables.version)"]
    /// Nanoseconds that requests in hand are waited for; nobody is answered meanwhile.
    static let longestPause: UInt64 = 5_000_000_000
    /// Milliseconds that the new program may think.
    private static let longestQuestion = 5000

    /// - Parameters:
    ///   - path: of the program.
    ///   - devices: of the daemon's mounts.
    /// - Returns: why the program that would serve cannot, for people; nil if it can.
    static func obstacle(in path: String, for devices: Set<UInt64>) -> String? {
        do throws(Errno) {
            if devices.contains(try Syscall.statxAt(Syscall.workingDirectory, path).device) || isMapped(from: devices) {
                return "its program \(path), or a library of it, lies on a mount that it serves"
            }
        } catch { return "its program is not found: \(error)" }
        do throws(Errno) {
            let status = try FileSystemUser.asRoot { () throws(Errno) in try run(path) }
            guard let status else { return "\(path) does not answer which states of a daemon it understands" }
            if status == 0 { return nil }
            return "\(path) does not understand the state of this daemon; unmount and mount again for it"
        } catch { return "\(path) cannot be run: \(error)" }
    }

    /// Whether the program, or a library of it, would be read through this mount by another process: nobody would answer the kernel then. Asks no mount.
    static func isRead(through mountpoint: String) -> Bool {
        guard let program = try? KeptState.program(), let text = try? Syscall.readAll(path: "/proc/self/maps") else { return true }
        let mapped = text.split(separator: 0x0A).compactMap { line -> String? in
            let fields = line.split(separator: 0x20, maxSplits: 5)
            guard fields.count == 6 else { return nil }
            return String(decoding: fields[5].drop { $0 == 0x20 }, as: UTF8.self)
        }
        return ([program] + mapped).contains { MountPath.isInside($0, mountpoint) }
    }

    private static func isMapped(from devices: Set<UInt64>) -> Bool {
        guard let text = try? Syscall.readAll(path: "/proc/self/maps") else { return true }
        return text.split(separator: 0x0A).contains { line in
            let fields = line.split(separator: 0x20, maxSplits: 5)
            guard fields.count > 3 else { return false }
            let numbers = fields[3].split(separator: 0x3A).compactMap { UInt64(String(decoding: $0, as: UTF8.self), radix: 16) }
            return numbers.count == 2 && devices.contains(numbers[0] << 32 | numbers[1])
        }
    }

    /// - Returns: the exit status; nil if it has not ended in time.
    private static func run(_ path: String) throws(Errno) -> Int32? {
        var words: [UnsafeMutablePointer<CChar>?] = ([path, word] + versions).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, path, nil, nil, &words, environ)
        if error != 0 { throw Errno(rawValue: error) }
        var status: Int32 = 0
        for _ in 0..<longestQuestion {
            if waitpid(process, &status, WNOHANG) == process { return status }
            SystemTime.sleep(milliseconds: 1)
        }
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        return nil
    }
}

extension MountHost {
    /// Ends this process so that the program, as it is now, serves its mount.
    /// - Returns: only if that cannot be: why, for people.
    func upgrade() -> String {
        guard upgrading.exchange(true, ordering: .sequentiallyConsistent) == false else { return "it is being upgraded already" }
        defer { upgrading.store(false, ordering: .sequentiallyConsistent) }
        guard let kept, let (mount, session, fileSystem) = served.first else { return Self.withoutKeeper }
        guard kept.has(device: mount.device) else { return "its daemon has not been able to keep what another one has to know" }
        guard let program = kept.programToCome else { return Self.keeperIsGone }
        // The new program would find no mount, and end.
        guard MountTable.entries().contains(where: { $0.device == mount.device }) else {
            return "it is not mounted any more where its daemon runs"
        }
        if let obstacle = obstacle(to: fileSystem) ?? obstacle(inFilesOf: mount)
            ?? Upgrade.obstacle(in: program, for: Set([mount.deviceNumber].compactMap { $0 }))
        {
            return obstacle
        }
        // Nobody is answered in the pause.
        fileSystem.settle()
        let begun = SystemTime.monotonic()
        guard let saved = session.pause(within: Upgrade.longestPause) else {
            return "a request has been in hand for \(Upgrade.longestPause / 1_000_000_000) seconds; try again later"
        }
        var reason = "an object that the kernel knows cannot be found by another process"
        // A mount that was made meanwhile would be lost.
        if kept.programToCome == nil {
            reason = Self.keeperIsGone
        } else if let obstacle = fileSystem.obstacleToResuming {
            reason = obstacle.reason
        } else if let tables = fileSystem.save(saved) {
            do throws(Errno) {
                let left = try LeftTables(device: mount.descriptor, tables).write()
                fileSystem.endAudit()
                kept.leave(left.rawValue, since: begun)
                // Nothing is closed or ended in order: all of it goes on.
                withExtendedLifetime(left) { _exit(0) }
            } catch { reason = "its tables cannot be written: \(error)" }
        }
        session.goOn()
        return reason
    }

    private static let keeperIsGone = "its keeper, which would run the new program, is gone"
    private static let withoutKeeper = "it has no keeper, which would run the new program (restarts=0)"

    /// For the status: why `upgrade` would refuse, as far as that is known without asking the new program.
    func obstacleToUpgrade(of fileSystem: FileSystem) -> String? {
        obstacleInDaemon ?? fileSystem.obstacleToResuming.flatMap { $0.passes ? nil : $0.reason }
    }

    /// The new program opens anew what options name.
    private func obstacle(inFilesOf mount: AttachedMount) -> String? {
        do throws(MountFailure) {
            _ = try identities(mount)
            try checkAudit(mount)
            return nil
        } catch { return error.message }
    }

    private var obstacleInDaemon: String? {
        if kept == nil { return Self.withoutKeeper }
        let count = served.count
        return count == 1 ? nil : "its daemon serves \(count) mounts; it can be upgraded while it serves one"
    }

    /// What passes is waited for.
    private func obstacle(to fileSystem: FileSystem) -> String? {
        if let obstacleInDaemon { return obstacleInDaemon }
        var obstacle = fileSystem.obstacleToResuming
        for _ in 0..<500 where obstacle?.passes == true {
            SystemTime.sleep(milliseconds: 10)
            obstacle = fileSystem.obstacleToResuming
        }
        return obstacle?.reason
    }
}
