import Glibc

/// The signals that are meant for the command, and reach it through those who wait for it; and what the caller made of signals,
/// which the command is to find as it was.
struct SandboxRunSignals {
    static let numbers = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH]

    /// Those that a terminal sends, to the whole group of processes in its foreground. Inside, that group is the command's.
    static func isTerminals(_ number: Int32) -> Bool { [SIGHUP, SIGINT, SIGQUIT, SIGWINCH].contains(number) }

    private var mask = sigset_t()
    private var ignored: [Int32] = []

    /// From here on they wait, and SIGTSTP, which stops more than this process.
    static func hold() -> SandboxRunSignals {
        var before = SandboxRunSignals()
        var set = set(numbers + [SIGTSTP, SIGCHLD])
        sigprocmask(SIG_BLOCK, &set, &before.mask)
        before.ignored = [SIGPIPE, SIGCHLD].filter(isIgnored)
        signal(SIGPIPE, SIG_IGN)
        // Where children's ends are ignored there is nothing to wait for.
        signal(SIGCHLD, SIG_DFL)
        return before
    }

    /// In the process that becomes the command.
    func restore() {
        // Another program finds signals ignored or as they are by default.
        for number in [SIGPIPE, SIGCHLD] { signal(number, ignored.contains(number) ? SIG_IGN : SIG_DFL) }
        var mask = mask
        sigprocmask(SIG_SETMASK, &mask, nil)
    }

    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Does to this process what the signal does to whoever has made nothing of it. Where it only stops, this returns when it goes on.
    static func take(_ number: Int32) {
        var set = set([number])
        signal(number, SIG_DFL)
        kill(getpid(), number)
        sigprocmask(SIG_UNBLOCK, &set, nil)
        sigprocmask(SIG_BLOCK, &set, nil)
    }

    private static func set(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }
}
