import Glibc
import LinuxSystem

/// The signals that the supervisor forwards to the command, and the caller's mask and ignored signals, which the command inherits.
struct SandboxRunSignals {
    static let numbers = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH]

    /// Whether a terminal sends the signal to its foreground process group. Inside, the command's group gets it.
    static func isSentByTerminal(_ number: Int32) -> Bool { [SIGHUP, SIGINT, SIGQUIT, SIGWINCH].contains(number) }

    private var mask = sigset_t()
    private var ignored: [Int32] = []

    /// Blocks these signals and SIGTSTP.
    /// - Returns: the state of before.
    static func block() -> SandboxRunSignals {
        var before = SandboxRunSignals()
        var set = Signals.set(of: numbers + [SIGTSTP, SIGCHLD])
        sigprocmask(SIG_BLOCK, &set, &before.mask)
        before.ignored = [SIGPIPE, SIGCHLD].filter(Signals.isIgnored)
        signal(SIGPIPE, SIG_IGN)
        // With SIGCHLD ignored no child could be waited for.
        signal(SIGCHLD, SIG_DFL)
        return before
    }

    /// Restores the state of before. Call in the process that becomes the command.
    func restore() {
        // execve(2) keeps ignored signals ignored.
        for number in [SIGPIPE, SIGCHLD] { signal(number, ignored.contains(number) ? SIG_IGN : SIG_DFL) }
        var mask = mask
        sigprocmask(SIG_SETMASK, &mask, nil)
    }

    /// Delivers a signal to this process with its default action. Returns only if the process was stopped and continued.
    static func deliverDefault(_ number: Int32) {
        var set = Signals.set(of: [number])
        signal(number, SIG_DFL)
        kill(getpid(), number)
        sigprocmask(SIG_UNBLOCK, &set, nil)
        sigprocmask(SIG_BLOCK, &set, nil)
    }
}
