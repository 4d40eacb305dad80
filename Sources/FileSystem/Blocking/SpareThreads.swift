import LinuxSystem

/// Threads for system calls that a caller can delay without limit. A thread ends after ten seconds without work.
final class SpareThreads: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var idle = 0
        var count = 0
    }

    private let state = Monitor(State())
    /// The most threads at a time, for all mounts of a tree.
    static let most = 256
    private static let stack = 512 << 10
    private static let idleTime: UInt64 = 10_000_000_000

    /// Runs work on a thread that is idle, or on a new one.
    /// - Returns: false if no thread is available.
    func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.idle <= state.work.count else {
                state.work.append(work)
                return true
            }
            guard state.count < Self.most else { return false }
            state.work.append(work)
            do throws(Errno) {
                _ = try Thread.start(name: "aclfs-spare", stackSize: Self.stack) { [self] in serve() }
                state.count += 1
                return true
            } catch {
                state.work.removeLast()
                return false
            }
        }
    }

    private func serve() {
        ThreadMark.leaveProcessor()
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { $0.idle += 1 }
        let work = state.wait(until: SystemTime.monotonic() + Self.idleTime) { state -> (@Sendable () -> Void)? in
            guard !state.work.isEmpty else { return nil }
            state.idle -= 1
            return state.work.removeFirst()
        }
        if let work { return work }
        // Work may have arrived after the wait ended.
        return state.withLock { state in
            state.idle -= 1
            if !state.work.isEmpty { return state.work.removeFirst() }
            state.count -= 1
            return nil
        }
    }
}
