import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// The init of the process namespace: drops all privileges, starts the command, and waits until no process is left.
struct SandboxRunInside {
    var command: [[UInt8]]
    /// Preferred first. The last one always exists.
    var workingDirectories: [[UInt8]]
    var signals: SandboxRunSignals
    var devices: SandboxRunDevices
    /// To the supervisor (`SandboxRunChannel`). Closed without a message if the command was not started.
    var channel: Int32

    static let refused: Int32 = 2

    /// - Returns: the exit code of this process. If the command was started, the supervisor ignores it.
    func run() -> Int32 {
        do throws(SandboxRunFailure) { try dropPrivileges() } catch {
            printError("aclfs: sandbox run: \(error.message)")
            return Self.refused
        }
        // No process inside reaches the caller's process group by kill(0, …), nor has the caller's terminal.
        setsid()
        // A process that outlives the command could read what is typed for the caller's shell.
        let isAtTerminal = (0...2).contains { isatty($0) == 1 }
        let (children, child): (SignalDescriptor, Int32)
        do throws(Errno) {
            try Syscall.hideProcess()
            children = try SignalDescriptor([SIGCHLD])
            child = try Syscall.fork()
        } catch {
            printError("aclfs: sandbox run: cannot start a process: \(error)")
            return Self.refused
        }
        if child == 0 { start() }
        // The child does the same. A signal for the group may come before that.
        setpgid(child, child)
        // A reader of the command's output must see its end.
        try? Syscall.silence()
        return reap(child, children, endsWithCommand: isAtTerminal)
    }

    // MARK: Privileges

    private func dropPrivileges() throws(SandboxRunFailure) {
        try SandboxRunProc.mount()
        try step("cannot restrict devices (mount_setattr, Linux 5.12)") { () throws(Errno) in try devices.restrict() }
        // In a cgroup namespace of its own a process could mount control groups again.
        try step("cannot forbid namespaces of control groups") { () throws(Errno) in
            try Syscall.limitNamespaces("cgroup", to: 0)
        }
        // In the inner mount namespace all these mounts are locked.
        let (uid, gid) = (geteuid(), getegid())
        try step("cannot make the inner namespaces") { () throws(Errno) in
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount | NamespaceKind.ipc)
            try Syscall.mapOnly(uid: uid, gid: gid)
        }
        // A mount point protects its name only in namespaces where it is attached. In a new one, after detaching the tree, a process
        // could rename a pinned directory or remove a hidden one.
        try step("cannot forbid further mount namespaces") { () throws(Errno) in
            try Syscall.limitNamespaces("mnt", to: 0)
        }
        // The channel becomes 3, the only descriptor besides the standard ones.
        if channel != 3 { dup2(channel, 3) }
        try step("cannot close inherited descriptors") { () throws(Errno) in
            guard fcntl(3, F_SETFD, FD_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
            try Syscall.closeAll(from: 4)
        }
        do throws(Errno) { try Syscall.newSessionKeyring() } catch {
            if error != .nosys { throw NamespaceSettings.failure("cannot make a new session keyring", error) }
        }
        try step("cannot drop capabilities") { () throws(Errno) in
            try Syscall.giveUpPrivileges()
            // If the supervisor is killed, this process and the whole namespace end.
            try Syscall.endWithParent(SIGKILL)
        }
        do throws(Errno) { try RequestFilter.install() } catch {
            throw SandboxRunFailure(
                "cannot forbid input to terminals and snapshots: \(error); the kernel must have seccomp filters "
                    + "(CONFIG_SECCOMP_FILTER), and a container must allow them")
        }
        guard hasParent else { throw SandboxRunFailure("the process that started it has ended") }
    }

    /// Whether the supervisor was alive when `endWithParent` took effect. In a process namespace its pid is 0, so the channel tells: a
    /// process closes its descriptors before its children get the signal.
    private var hasParent: Bool {
        var end = pollfd(fd: 3, events: 0, revents: 0)
        return poll(&end, 1, 0) == 0
    }

    private func step(_ what: String, _ body: () throws(Errno) -> Void) throws(SandboxRunFailure) {
        do throws(Errno) { try body() } catch { throw NamespaceSettings.failure(what, error) }
    }

    // MARK: The command

    private func start() -> Never {
        for directory in workingDirectories where chdir(Self.characters(directory)) == 0 { break }
        // The group that gets the signals of the terminal.
        setpgid(0, 0)
        signals.restore()
        let failure = SandboxRunProgram.become(command)
        printError("aclfs: sandbox run: \(escapedName(command[0])): \(failure)")
        _exit(SandboxRunProgram.exitCode(failure))
    }

    private static func characters(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    /// Waits until no process is left.
    /// - Parameter endsWithCommand: whether init, and with it every process, ends with the command.
    private func reap(_ command: Int32, _ children: SignalDescriptor, endsWithCommand: Bool) -> Int32 {
        var channel: Int32 = 3
        var ended: Int32?
        while true {
            var status: Int32 = 0
            let pid = waitpid(-1, &status, WNOHANG)
            if pid == command { ended = status }
            if pid > 0 { continue }
            if let status = ended {
                let isLast = pid < 0 || endsWithCommand
                // The remaining processes outlive the supervisor.
                if !isLast { try? Syscall.endWithParent(0) }
                SandboxRunReport.ended(status: status, isLast: isLast).send(channel)
                if isLast { return 0 }
                Glibc.close(channel)
                (ended, channel) = (nil, -1)
            }
            if pid < 0 { return 0 }
            var waited = [
                pollfd(fd: channel, events: Int16(POLLIN), revents: 0),
                pollfd(fd: children.rawValue, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waited, 2, -1) < 0 { continue }
            if waited[1].revents != 0 { _ = try? children.next() }
            if waited[0].revents == 0 { continue }
            if let order = SandboxRunOrder.receive(channel) { obey(order, command) } else { channel = -1 }
        }
    }

    /// While the channel is open the command has not been reaped, so its pid is not used again.
    private func obey(_ order: SandboxRunOrder, _ command: Int32) {
        switch order {
        case .signal(let number, let toGroup): kill(toGroup ? -command : command, number)
        case .stop:
            SandboxRunJobControl.stop(command)
            // If the signal ended the command, `ended` is reported instead.
            if hasEnded(command) { SandboxRunJobControl.resume() } else { SandboxRunReport.stopped.send(3) }
        case .resume: SandboxRunJobControl.resume()
        }
    }

    private func hasEnded(_ command: Int32) -> Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(command), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
    }
}

/// Handles Ctrl-Z, as far as init can: every process of the namespace stops before the caller's shell reads its next line. Their
/// session has no controlling terminal, so the kernel would stop none of them when it reads from the caller's terminal.
enum SandboxRunJobControl {
    /// Stops all processes but this one. Returns when none of them runs, or after 1.3 seconds.
    /// - Parameter command: the process group of the command.
    static func stop(_ command: Int32) {
        // SIGTSTP first, as a terminal sends it: an editor restores the screen before it stops.
        kill(-command, SIGTSTP)
        wait(milliseconds: 300) { () throws(Errno) in !(try ProcessState.isAwake(command)) }
        // SIGSTOP cannot be ignored, and reaches every process but init, forked ones included.
        kill(-1, SIGSTOP)
        // A process in a system call stops at its end. An uninterruptible one reads no terminal.
        wait(milliseconds: 1000) { () throws(Errno) in !(try ProcessState.anyAwake(besides: getpid())) }
    }

    static func resume() { kill(-1, SIGCONT) }

    private static func wait(milliseconds: UInt32, until isDone: () throws(Errno) -> Bool) {
        for _ in 0..<(milliseconds / 5) {
            do throws(Errno) { if try isDone() { return } } catch { return }
            SystemTime.sleep(milliseconds: 5)
        }
    }
}
