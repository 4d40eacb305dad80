import ACLFormats
import Glibc
import LinuxSystem

/// The first process of the new process namespace: closes the last doors, starts the command, and stays until nobody is
/// left, as init does.
struct SandboxRunInside {
    var command: [[UInt8]]
    /// Best first; the last always is.
    var workingDirectories: [[UInt8]]
    var originalMask: sigset_t
    /// Takes the command's wait status; closed without one if it was not started.
    var line: Int32

    static let refused: Int32 = 2

    /// Returns the exit code of this process, of which nobody hears if the command was started.
    func run() -> Int32 {
        do throws(SandboxRunFailure) { try close() } catch {
            printError("aclfs: sandbox run: \(error.message)")
            return Self.refused
        }
        // Neither types he into the caller's terminal (TIOCSTI) nor reaches his process group (kill(0, …)).
        setsid()
        let child: Int32
        do throws(Errno) {
            try Syscall.hideProcess()
            child = try Syscall.fork()
        } catch {
            printError("aclfs: sandbox run: cannot start a process: \(error)")
            return Self.refused
        }
        if child == 0 { start() }
        // Whoever reads what the command writes is to see the end of it.
        try? Syscall.silence()
        return reap(child)
    }

    // MARK: Doors

    private func close() throws(SandboxRunFailure) {
        try step("cannot mount a /proc of its own") { () throws(Errno) in
            try Syscall.mount(
                source: "proc", target: "/proc", type: "proc",
                flags: MountFlag.noSetID | MountFlag.noDevices | MountFlag.noExec)
        }
        if SandboxRunDevices.canOpenDisks {
            try step("cannot make a /dev without disks") { () throws(Errno) in try SandboxRunDevices.replace() }
        }
        // With a namespace of control groups of his own anybody inside could mount them anew.
        try step("cannot forbid namespaces of control groups") { () throws(Errno) in
            try Syscall.limitNamespaces("cgroup", to: 0)
        }
        // From here on nothing that is mounted can be taken away or moved, by nobody inside.
        let (uid, gid) = (geteuid(), getegid())
        try step("cannot make the inner namespaces") { () throws(Errno) in
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount | NamespaceKind.ipc)
            try Syscall.mapOnly(uid: uid, gid: gid)
        }
        // Mount points keep their names only where they are attached: in a mount namespace whose old tree was detached anybody inside
        // could rename what is pinned, or remove what is covered, through a descriptor from before.
        try step("cannot forbid further mount namespaces") { () throws(Errno) in
            try Syscall.limitNamespaces("mnt", to: 0)
        }
        // The line becomes 3, the only one beyond the standard ones.
        if line != 3 { dup2(line, 3) }
        try step("cannot close inherited descriptors") { () throws(Errno) in
            guard fcntl(3, F_SETFD, FD_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
            try Syscall.closeAll(from: 4)
        }
        do throws(Errno) { try Syscall.newSessionKeyring() } catch {
            if error != .nosys { throw NamespaceSettings.failure("cannot leave the session's keyring", error) }
        }
        try step("cannot give up capabilities") { () throws(Errno) in
            try Syscall.giveUpPrivileges()
            // Nobody is left behind if the one who waits for us is killed.
            try Syscall.endWithParent(SIGKILL)
        }
        guard isAwaited else { throw SandboxRunFailure("whoever started it is gone") }
    }

    /// Whether the parent was there still when its end became ours. Its number does not tell, being 0 from within a process
    /// namespace; the line does, whose other end nobody else has and which a process loses before its children are told.
    private var isAwaited: Bool {
        var end = pollfd(fd: 3, events: 0, revents: 0)
        return poll(&end, 1, 0) == 0
    }

    private func step(_ what: String, _ body: () throws(Errno) -> Void) throws(SandboxRunFailure) {
        do throws(Errno) { try body() } catch { throw NamespaceSettings.failure(what, error) }
    }

    // MARK: The command

    private func start() -> Never {
        for directory in workingDirectories where chdir(Self.characters(directory)) == 0 { break }
        var mask = originalMask
        sigprocmask(SIG_SETMASK, &mask, nil)
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup(Self.characters($0)) } + [nil]
        if let program = words[0] { execvp(program, &words) }
        let error = Errno(rawValue: errno)
        printError("aclfs: sandbox run: \(escapedName(command[0])): \(error)")
        // As shells have it.
        _exit(error == .noent ? 127 : 126)
    }

    private static func characters(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    private func reap(_ command: Int32) -> Int32 {
        var set = SandboxRunSignals.set()
        var isRunning = true
        var report = SandboxRunReport()
        while true {
            var status: Int32 = 0
            let pid = waitpid(-1, &status, WNOHANG)
            if pid == command { (isRunning, report.status) = (false, status) }
            if pid > 0 { continue }
            report.isLast = pid < 0
            if !isRunning, !report.isSent {
                // Those who stay live on; the command that started all this need not.
                try? Syscall.endWithParent(0)
                report.send()
            }
            if pid < 0 { return 0 }
            var info = siginfo_t()
            let number = sigwaitinfo(&set, &info)
            // The terminal's own have reached the command, too.
            if number > 0, number != SIGCHLD, isRunning { kill(command, number) }
        }
    }
}

/// What is said of a command that has ended.
struct SandboxRunReport {
    /// As wait(2) has it.
    var status: Int32 = 0
    /// Whether nobody else is left in the sandbox.
    var isLast = false
    private(set) var isSent = false

    mutating func send() {
        isSent = true
        let words = [status, isLast ? 1 : 0]
        _ = write(3, words, 8)
        close(3)
    }

    /// nil if the other end has gone without a word.
    static func receive(_ line: Int32) -> SandboxRunReport? {
        var words: [Int32] = [0, 0]
        guard read(line, &words, 8) == 8 else { return nil }
        return SandboxRunReport(status: words[0], isLast: words[1] == 1)
    }
}

/// The signals that are meant for the command, and reach it through those who wait for it.
enum SandboxRunSignals {
    static let numbers = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH]

    /// With SIGCHLD, which tells of children.
    static func set() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers + [SIGCHLD] { sigaddset(&set, number) }
        return set
    }
}
