import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// The first process of the new process namespace: closes the last doors, starts the command, and stays until nobody is
/// left, as init does.
struct SandboxRunInside {
    var command: [[UInt8]]
    /// Best first; the last always is.
    var workingDirectories: [[UInt8]]
    var signals: SandboxRunSignals
    var devices: SandboxRunDevices
    /// To the process that was called (`SandboxRunLine`); closed without a word if the command was not started.
    var line: Int32

    static let refused: Int32 = 2

    /// Returns the exit code of this process, of which nobody hears if the command was started.
    func run() -> Int32 {
        do throws(SandboxRunFailure) { try close() } catch {
            printError("aclfs: sandbox run: \(error.message)")
            return Self.refused
        }
        // Nobody inside reaches the caller's process group (kill(0, …)), nor has his terminal.
        setsid()
        // Whoever is left behind would read what is typed for the caller's shell.
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
        // Here too: a signal for the group may come first.
        setpgid(child, child)
        // Whoever reads what the command writes is to see the end of it.
        try? Syscall.silence()
        return reap(child, children, endsWithCommand: isAtTerminal)
    }

    // MARK: Doors

    private func close() throws(SandboxRunFailure) {
        try SandboxRunProc.mount()
        try step("cannot close devices (mount_setattr, Linux 5.12)") { () throws(Errno) in try devices.close() }
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
        do throws(Errno) { try RequestFilter.install() } catch {
            throw SandboxRunFailure(
                "cannot forbid typing into the caller's terminal and snapshots: \(error); the kernel must have seccomp filters "
                    + "(CONFIG_SECCOMP_FILTER), and a container must allow them")
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
        // What a terminal would send, to all that the command runs in the foreground, goes there.
        setpgid(0, 0)
        signals.restore()
        let failure = SandboxRunProgram.become(command)
        printError("aclfs: sandbox run: \(escapedName(command[0])): \(failure)")
        _exit(SandboxRunProgram.exitCode(failure))
    }

    private static func characters(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    /// Until nobody is left, or until nobody may be.
    /// - Parameter endsWithCommand: what the command leaves behind ends with init, which ends with the command.
    private func reap(_ command: Int32, _ children: SignalDescriptor, endsWithCommand: Bool) -> Int32 {
        var line: Int32 = 3
        var ended: Int32?
        while true {
            var status: Int32 = 0
            let pid = waitpid(-1, &status, WNOHANG)
            if pid == command { ended = status }
            if pid > 0 { continue }
            if let status = ended {
                let isLast = pid < 0 || endsWithCommand
                // Those who stay live on; the process that started all this need not.
                if !isLast { try? Syscall.endWithParent(0) }
                SandboxRunNews.ended(status: status, isLast: isLast).send(line)
                if isLast { return 0 }
                Glibc.close(line)
                (ended, line) = (nil, -1)
            }
            if pid < 0 { return 0 }
            var waited = [
                pollfd(fd: line, events: Int16(POLLIN), revents: 0),
                pollfd(fd: children.rawValue, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waited, 2, -1) < 0 { continue }
            if waited[1].revents != 0 { _ = try? children.next() }
            if waited[0].revents == 0 { continue }
            if let order = SandboxRunOrder.receive(line) { obey(order, command) } else { line = -1 }
        }
    }

    /// While there is a line the command has not been waited for, so that its number is nobody else's.
    private func obey(_ order: SandboxRunOrder, _ command: Int32) {
        switch order {
        case .signal(let number, let toGroup): kill(toGroup ? -command : command, number)
        case .stop:
            SandboxRunHalt.stop(command)
            // What ends at that signal is told of as an end.
            if hasEnded(command) { SandboxRunHalt.go() } else { SandboxRunNews.stopped.send(3) }
        case .go: SandboxRunHalt.go()
        }
    }

    private func hasEnded(_ command: Int32) -> Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(command), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
    }
}
