/// Threads for work that may take any time. One starts when there is more work than idle threads, and ends after a time without work.
public final class ThreadPool: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var idle = 0
        var count = 0
    }

    private let state = Monitor(State())
    private let name: String
    private let most: Int
    private let stackSize: Int?
    private let idleTime: UInt64

    /// - Parameters:
    ///   - name: of the threads.
    ///   - most: threads at a time.
    ///   - stackSize: in bytes; nil = the system's default.
    ///   - idleTime: how long a thread waits for work, in nanoseconds.
    public init(name: String, most: Int, stackSize: Int? = nil, idleTime: UInt64 = 10_000_000_000) {
        (self.name, self.most, self.stackSize, self.idleTime) = (name, most, stackSize, idleTime)
    }

    /// Number of threads that exist now.
    public var count: Int { state.withLock { $0.count } }

    /// Runs work on a thread that is idle, or on a new one.
    /// - Parameter mayWait: the work waits for a thread if there are no more.
    /// - Returns: false if no thread is available.
    public func run(mayWait: Bool = false, _ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            state.work.append(work)
            if state.idle >= state.work.count { return true }
            if state.count < most, (try? Thread.start(name: name, stackSize: stackSize, { [self] in serve() })) != nil {
                state.count += 1
                return true
            }
            if mayWait, state.count > 0 { return true }
            state.work.removeLast()
            return false
        }
    }

    private func serve() {
        ThreadMark.leaveProcessor()
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        func take(_ state: inout State) -> (@Sendable () -> Void)? {
            guard !state.work.isEmpty else { return nil }
            state.idle -= 1
            return state.work.removeFirst()
        }
        state.withLock { $0.idle += 1 }
        if let work = state.wait(until: SystemTime.monotonic() + idleTime, for: take) { return work }
        return state.withLock { state in
            // Work may have arrived after the wait ended.
            if let work = take(&state) { return work }
            state.idle -= 1
            state.count -= 1
            return nil
        }
    }
}
