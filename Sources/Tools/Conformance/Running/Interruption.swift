import Glibc
import LinuxSystem

/// Signals that end a run: they wait until it has removed what it made.
public final class Interruption {
    private let signals: SignalDescriptor
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    /// Blocks the signals, in this thread and in processes that it starts. A closed pipe is an error of a write from now on.
    public init() throws(Errno) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in Self.numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        signals = try SignalDescriptor(Self.numbers)
    }

    /// - Throws: a signal has come.
    func check() throws(RunFailure) {
        var question = pollfd(fd: signals.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&question, 1, 0) == 1, let number = (try? signals.next())?.number else { return }
        throw RunFailure("ended by a signal: \(String(cString: strsignal(number)))", signal: number)
    }

    /// Ends this process as the signal would have done.
    public static func end(by number: Int32) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        signal(number, SIG_DFL)
        kill(getpid(), number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
