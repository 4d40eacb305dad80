import BackingStore
import LinuxSystem
import Synchronization

/// One operation on a spare thread, and the request that waits for it.
final class HeldJob<Value: Sendable>: Sendable {
    private enum Phase {
        /// Nothing is changed yet.
        case waiting
        case acting
        case done(Result<Value, Errno>)
        /// The caller has stopped waiting.
        case abandoned
    }
    private struct State {
        var phase = Phase.waiting
        /// Monotonic nanoseconds; each step moves it.
        var deadline: UInt64
        var isInterrupted = false
    }

    private let state: Monitor<State>
    private let step: UInt64
    let mark: ActMark

    /// - Parameters:
    ///   - step: nanoseconds until the deadline of each step.
    ///   - first: nanoseconds until the deadline before the first step.
    init(_ mark: ActMark, step: UInt64, first: UInt64) {
        (self.mark, self.step) = (mark, step)
        state = Monitor(State(deadline: SystemTime.monotonic() + first))
    }

    /// Called by the spare thread before the first change.
    /// - Returns: false if the caller has stopped waiting; then nothing may be changed.
    func beginAct() -> Bool {
        state.withLock { state in
            if case .abandoned = state.phase { return false }
            state.phase = .acting
            state.deadline = SystemTime.monotonic() + step
            return true
        }
    }

    /// Whether the object was free and the first step has begun.
    var isActing: Bool { state.withLock { if case .acting = $0.phase { true } else { false } } }

    /// Called by the spare thread after each step.
    /// - Returns: whether the caller was interrupted.
    func noteStep() -> Bool {
        state.withLock { state in
            state.deadline = SystemTime.monotonic() + step
            return state.isInterrupted
        }
    }

    /// Called by the spare thread when the operation has ended.
    /// - Returns: false if the caller has stopped waiting.
    func finish(_ result: Result<Value, Errno>) -> Bool {
        state.withLock { state in
            if case .abandoned = state.phase { return false }
            state.phase = .done(result)
            return true
        }
    }

    /// Called by the request. Waits until `deadline`, or until the deadline of the job if that is earlier.
    /// - Parameters:
    ///   - deadline: monotonic nanoseconds.
    ///   - isInterrupted: asked every 10 ms; nil: the caller cannot be interrupted.
    /// - Returns: nil if the job is not done.
    func result(until deadline: UInt64, isInterrupted: (() -> Bool)? = nil) -> Result<Value, Errno>? {
        while true {
            let now = SystemTime.monotonic()
            let jobDeadline = state.withLock { $0.deadline }
            let end = min(deadline, jobDeadline)
            let slice = isInterrupted == nil ? end : min(end, now + 10_000_000)
            let result = state.wait(until: slice) { state -> Result<Value, Errno>? in
                if case .done(let result) = state.phase { result } else { nil }
            }
            if let result { return result }
            if let isInterrupted, isInterrupted() { state.withLock { $0.isInterrupted = true } }
            let later = SystemTime.monotonic()
            if later >= deadline || later >= state.withLock({ $0.deadline }) { return nil }
        }
    }

    /// Called by the request when it stops waiting.
    /// - Returns: the result, if the job is done nevertheless.
    func abandon() -> Result<Value, Errno>? {
        state.withLock { state in
            if case .done(let result) = state.phase { return result }
            state.phase = .abandoned
            mark.isAbandoned.store(true, ordering: .sequentiallyConsistent)
            return nil
        }
    }
}

/// The objects that a spare thread works on, and whether its caller still waits.
final class ActMark: Sendable {
    let keys: [ObjectKey]
    /// The thread closed gates itself.
    let hasGates: Bool
    /// The caller has stopped waiting. The thread must not begin to change the object.
    let isAbandoned = Atomic<Bool>(false)
    private let hasActed = Atomic<Bool>(false)

    init(_ keys: [ObjectKey], hasGates: Bool) { (self.keys, self.hasGates) = (keys, hasGates) }

    static var current: ActMark? { ThreadMark.current.map { unsafeDowncast($0, to: ActMark.self) } }

    /// Call before a system call that changes an object.
    /// - Throws: `held` if the caller stopped waiting before the first change, or if the file is not one that was judged.
    func beginAct(on key: ObjectKey, isFile: Bool) throws(Errno) {
        if hasActed.load(ordering: .relaxed) { return }
        if isAbandoned.load(ordering: .sequentiallyConsistent) || isFile && !keys.contains(key) { throw .held }
        hasActed.store(true, ordering: .relaxed)
    }
}
