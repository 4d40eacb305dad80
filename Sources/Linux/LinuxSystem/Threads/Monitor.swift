import Glibc

/// A state with a lock, and threads that wait, with a deadline, until it satisfies a condition.
// Unchecked: the pointers never change after init, threads may share their targets, and the state is used only with the lock held.
public final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    public init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        defer { pthread_condattr_destroy(&attributes) }
        // The clock of SystemTime.monotonic(): setting the time of day does not move a deadline.
        let codes = [
            pthread_mutex_init(mutex, nil), pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC),
            pthread_cond_init(changed, &attributes),
        ]
        precondition(codes == [0, 0, 0], "a lock could not be made")
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the state, and wakes all threads that wait for a change.
    public func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Calls `body` after each change until it has a result.
    /// - Parameters:
    ///   - deadline: in nanoseconds, on the clock of `SystemTime.monotonic()`.
    ///   - body: the condition.
    /// - Returns: the result; nil if there was none by the deadline.
    public func wait<Result>(until deadline: UInt64, for body: (inout State) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while true {
            if let result = body(&state) { return result }
            if pthread_cond_timedwait(changed, mutex, &time) == ETIMEDOUT { return body(&state) }
        }
    }
}
