import CLinux
import Glibc

/// Going into the background: the command waits until the daemon reports that it serves, or why it cannot.
public enum Daemon {
    /// What the waiting command learns.
    public enum Outcome: Equatable, Sendable {
        case ready
        /// The command prints the message and exits with the status.
        case failed(status: UInt8, message: String)
        /// The daemon ended without a word.
        case died
    }

    /// Closes whatever the starting process left open beyond the standard descriptors: a daemon that keeps the
    /// end of somebody's pipe keeps its reader waiting for ever. To be called before anything is opened.
    public static func closeInherited() {
        // Before Linux 5.9 there is no such call, and nothing depends on it.
        _ = aclfs_close_from(3)
    }

    /// Which of the two processes returns from `detach`.
    public enum Role: ~Copyable {
        case command(Outcome)
        case daemon(Readiness)
    }

    /// The daemon's end of the line to the waiting command.
    public struct Readiness: ~Copyable, Sendable {
        private let pipe: OwnedDescriptor

        init(pipe: consuming OwnedDescriptor) { self.pipe = pipe }

        /// Lets the command exit with 0. Then leaves the working directory and points the standard descriptors
        /// at /dev/null; standard error stays open until now, so that early failures are seen.
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

    /// Goes on in a thread of its own, which ends the process with the status, while the calling one waits: what Swift's runtime
    /// remembers of a forked process's first thread is its parent's number, by which it takes a lock of its own (`swift_once`). Where
    /// such a thread meets another one at that lock, both spin for ever. The one that waits keeps what it was to file systems
    /// (`FileSystemUser`); it touches none.
    public static func runInFreshThread(_ body: @escaping () -> Int32) -> Never {
        struct Work: @unchecked Sendable { let body: () -> Int32 }
        let work = Work(body: body)
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs") { exit(work.body()) }
        } catch {
            // Without room for a thread it does not get far, but it can say so.
            exit(body())
        }
        // Signals are for the threads that expect them.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while true { pause() }
    }

    /// Splits off a daemon in a session of its own. To be called before any thread is started: only the calling
    /// thread goes on in the daemon. In the command it returns when the daemon has reported.
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
