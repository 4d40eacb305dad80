import Glibc

/// The first SIGHUP, SIGINT or SIGTERM that the process gets, for a program that ends between two steps. A second one ends it at once. One
/// that the process ignores stays ignored.
public final class EndingSignal: Sendable {
    private let first = Lock<Int32?>(nil)

    /// Blocks the signals in the calling thread, and so in those that it starts from now on.
    /// - Throws: no thread can wait for them; they end the process as before.
    public init() throws(Errno) {
        let numbers = [SIGHUP, SIGINT, SIGTERM].filter { !Signals.isIgnored($0) }
        var blocked = Signals.set(of: numbers)
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        do throws(Errno) { _ = try Thread.start(name: "aclfs-signals") { [self] in wait(for: numbers) } } catch {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            throw error
        }
    }

    /// nil: none came yet.
    public var number: Int32? { first.withLock { $0 } }

    /// Ends the process by a signal with its default action, so that the process that waits for it learns why.
    public static func endProcess(by number: Int32) {
        var set = Signals.set(of: [number])
        signal(number, SIG_DFL)
        // To this thread: the one that waits would take it.
        pthread_kill(pthread_self(), number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private func wait(for numbers: [Int32]) {
        var set = Signals.set(of: numbers)
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { return }
        first.withLock { [number] in $0 = number }
        guard sigwait(&set, &number) == 0 else { return }
        Self.endProcess(by: number)
    }
}
