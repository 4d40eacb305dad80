import Foundation
import Glibc
import LinuxSystem

/// Mounts of aclfs in a directory of their own. The mounts, the processes that serve them and the directory end with the object, also when
/// a test failed half-way. Every fixture that mounts by the program builds on this; for scripts that mount by themselves `leaving` and
/// `endDaemons` do the same.
public final class TestMounts {
    /// Other users may pass through it.
    public let directory: ScratchDirectory
    /// What stands before every command: it says where the mounts are made.
    public let within: [String]
    /// Mount points that `unmount` has not freed.
    public private(set) var places: Set<String> = []
    private let report: (String) -> Void

    /// - Parameters:
    ///   - name: a word of the directory's name.
    ///   - within: words before every command.
    ///   - report: is told of a daemon that does not end and waits for nothing.
    public init(_ name: String, within: [String] = [], report: @escaping (String) -> Void) throws {
        directory = try ScratchDirectory(name)
        self.within = within
        self.report = report
    }

    deinit {
        // One daemon may serve several mounts. One that has ended may wait for init, without a command line.
        let paths = places
        let serving = paths.flatMap { path in Self.processes { $0 == path } }
        for path in paths { _ = try? Spawn.run(within + [BuiltProgram.path("aclfs"), "unmount", path]) }
        if !within.isEmpty || Self.isAnythingServed(below: directory.path) {
            _ = try? Spawn.run(within + ["sh", "-c", Self.leaving + "leave_mounts \"$1\"", "sh", directory.path])
        }
        if serving.isEmpty { return }
        Self.end(within: 30, report: report) { paths.flatMap { path in Self.processes { $0 == path } }.filter { serving.contains($0) } }
    }

    /// Mounts a directory with the words of `-o`.
    /// - Throws: what the program said, if it refused.
    @discardableResult
    public func mount(_ source: String, at path: String, _ options: String) throws -> CommandResult {
        let words = options.isEmpty ? [] : ["-o", options]
        let result = try Spawn.run(within + [BuiltProgram.path("aclfs"), "mount"] + words + [source, path])
        guard result.status == 0 else { throw FixtureError("mount -o \(options): \(result)") }
        places.insert(path)
        return result
    }

    /// `aclfs unmount`, whose result is the caller's to judge.
    @discardableResult
    public func unmount(_ path: String) throws -> CommandResult {
        let result = try Spawn.run(within + [BuiltProgram.path("aclfs"), "unmount", path])
        if result.status == 0 { places.remove(path) }
        return result
    }

    // MARK: What is mounted and served

    /// A function for shells: `leave_mounts DIRECTORY` unmounts lazily what FUSE serves below a directory, the newest first. A mount is
    /// known by its id: one that went with another is left alone.
    public static let leaving = #"""
        leave_mounts() {
            awk -v top="$1/" '{
                for (i = 7; $i != "-"; i++);
                if ($(i + 1) ~ /^fuse/ && index($5, top) == 1) print $1, $5
            }' /proc/self/mountinfo | tac | while read -r id at; do
                grep -q "^$id " /proc/self/mountinfo && umount -lc "$(printf "$at")" 2>/dev/null
            done
        }

        """#

    private static func isAnythingServed(below directory: String) -> Bool {
        let mounts = (try? MountInfo.ofThisProcess()) ?? []
        return mounts.contains { $0.type.starts(with: "fuse".utf8) && $0.path.starts(with: "\(directory)/".utf8) }
    }

    /// Whether anything is mounted at a path, in the namespace of this process.
    public static func isMounted(_ path: String) -> Bool {
        ((try? MountInfo.ofThisProcess()) ?? []).contains { $0.path.elementsEqual(path.utf8) }
    }

    /// The processes that serve a mount point, by the words of their command line.
    public static func daemons(of path: String) -> [pid_t] { processes { $0 == path }.filter { !isKeeper($0) } }

    /// Kills the daemons of a mount point and their keepers, which would start others.
    public static func killDaemons(of path: String) { kill(all: processes { $0 == path }) }

    private static func kill(all processes: [pid_t]) {
        for pid in processes { Glibc.kill(pid, SIGSTOP) }
        for pid in processes { Glibc.kill(pid, SIGKILL) }
    }

    private static func isKeeper(_ pid: pid_t) -> Bool { !ProcFile.text("/proc/\(pid)/task/\(pid)/children").isEmpty }

    /// With the keepers.
    private static func processes(where isMountPoint: (String) -> Bool) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            guard pid != getpid() else { return false }
            let words = ProcFile.text("/proc/\(pid)/cmdline").split(separator: "\0")
            guard let program = words.first, let last = words.last else { return false }
            return program.hasSuffix("/aclfsd") && (words.contains("mount") || words.contains("keep")) && isMountPoint(String(last))
        }
    }

    /// Waits for the daemons of mounts below a directory and kills, by their ids, those that do not end. For scripts, whose shell has
    /// unmounted everything unless it was killed.
    public static func endDaemons(below directory: String, report: (String) -> Void) {
        end(within: 5, report: report) { processes { $0.hasPrefix(directory + "/") } }
    }

    private static func end(within seconds: Int, report: (String) -> Void, _ left: () -> [pid_t]) {
        eventually(within: seconds) { left().isEmpty }
        // One that is busy has had no processor, unless it has used as much of one.
        let first = Dictionary(left().map { ($0, processorTicks(of: $0)) }) { first, _ in first }
        let hasSettled = eventually(within: 20 * seconds) {
            left().allSatisfy { busyThreads(of: $0).isEmpty || hasUsed(seconds, $0, since: first[$0]) }
        }
        // One that sleeps serves what somebody still holds: a process that another test started has a file of ours open. It may run for a
        // moment, since mounts and namespaces come and go.
        for pid in left() where !hasSettled || hasUsed(seconds, pid, since: first[pid]) {
            // Of one that is busy it is said what it is at; killed, it could tell nothing any more.
            let busy = busyThreads(of: pid)
            let words = ProcFile.text("/proc/\(pid)/cmdline").replacing("\0", with: " ")
            if !busy.isEmpty { report("daemon \(pid) does not end: \(words) \(busy)") }
        }
        kill(all: left())
    }

    private static func busyThreads(of pid: pid_t) -> [String] { threads(of: pid).filter { $0.contains(" R ") } }

    private static func hasUsed(_ seconds: Int, _ pid: pid_t, since first: Int?) -> Bool {
        processorTicks(of: pid) - (first ?? 0) >= seconds * sysconf(Int32(_SC_CLK_TCK))
    }

    /// The time for which a process has had a processor.
    private static func processorTicks(of pid: pid_t) -> Int {
        let fields = ProcFile.text("/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
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
}
