import CLinux
import Glibc

/// Starts a daemon in the background. The command waits until the daemon reports that it serves, or why it cannot.
public enum Daemon {
    /// The report to the waiting command.
    public enum Outcome: Equatable, Sendable {
        case ready
        /// The command prints the message and exits with the status.
        case failed(status: UInt8, message: String)
        /// The daemon ended without a report.
        case died
    }

    /// Closes inherited descriptors beyond the standard ones: a daemon that keeps the end of a pipe keeps its reader waiting. Call
    /// it before anything else is opened.
    /// - Parameter kept: a descriptor that stays open.
    public static func closeInherited(besides kept: Int32? = nil) {
        // The call is missing before Linux 5.9, and nothing depends on it.
        guard let kept, kept > 2 else {
            _ = aclfs_close_range(3, UInt32.max)
            return
        }
        if kept > 3 { _ = aclfs_close_range(3, UInt32(kept) - 1) }
        _ = aclfs_close_range(UInt32(kept) + 1, UInt32.max)
    }

    /// Which of the two processes returns from `detach`.
    public enum Role: ~Copyable {
        case command(Outcome)
        case daemon(Readiness)
    }

    /// The daemon's end of the pipe to the waiting command.
    public struct Readiness: ~Copyable, Sendable {
        private let pipe: OwnedDescriptor

        init(pipe: consuming OwnedDescriptor) { self.pipe = pipe }

        /// Lets the command exit with 0. Then leaves the working directory and points the standard descriptors at /dev/null.
        /// Standard error stays open until then, so that the user sees early errors.
        public consuming func ready() throws(Errno) {
            try send([0])
            try Syscall.chdir("/")
            try value(aclfs_silence(0))
        }

        /// Lets the command print the message and exit with the status, 1 to 255.
        public consuming func fail(status: UInt8, message: String) throws(Errno) {
            precondition(status != 0, "status 0 means readiness")
            try send([status] + Array(message.utf8))
        }

        private borrowing func send(_ bytes: [UInt8]) throws(Errno) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = try repeating {
                    rest.withUnsafeBytes { aclfs_write(pipe.rawValue, $0.baseAddress, UInt64($0.count)) }
                }
                rest = rest.dropFirst(Int(count))
            }
        }
    }

    /// Runs `body` in a new thread, which ends the process with its status, while the calling thread waits.
    ///
    /// In a forked process Swift's runtime remembers the parent's number for the first thread and takes a lock by it
    /// (`swift_once`). If this thread meets another one there, both spin forever. The waiting thread keeps its ids for file systems
    /// (`FileSystemUser`) and uses none.
    public static func runInFreshThread(_ body: @escaping () -> Int32) -> Never {
        struct Work: @unchecked Sendable { let body: () -> Int32 }
        let work = Work(body: body)
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs") { exit(work.body()) }
        } catch {
            // Without memory for a thread `body` fails early, but it can report it.
            exit(body())
        }
        // Other threads handle signals.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while true { pause() }
    }

    /// Forks a daemon with a session of its own. Call it before any thread is started: only the calling thread exists in the
    /// daemon. In the command it returns when the daemon has reported.
    public static func detach() throws(Errno) -> Role {
        var end: Int32 = -1
        let isCommand = try value(aclfs_fork_daemon(&end)) == 1
        let pipe = OwnedDescriptor(rawValue: end)
        if !isCommand { return .daemon(Readiness(pipe: pipe)) }
        let report = try Syscall.readAll(pipe.rawValue, limit: 65536)
        guard let status = report.first else { return .command(.died) }
        if status == 0 { return .command(.ready) }
        return .command(.failed(status: status, message: String(decoding: report.dropFirst(), as: UTF8.self)))
    }
}
