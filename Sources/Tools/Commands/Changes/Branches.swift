import LinuxSystem

/// Directories that one worker gives to another one that has nothing to do. Their number is bounded by that of the workers.
final class Branches<Branch: Sendable>: Sendable {
    private struct State: Sendable {
        /// Workers that have not left.
        var workers: Int
        var waiting = 0
        var branches: [Branch]
        var isOver = false
    }
    private let state: Monitor<State>

    init(workers: Int, first: Branch) { state = Monitor(State(workers: workers, branches: [first])) }

    /// - Returns: false if no worker waits: the caller walks the directory itself.
    func offer(_ branch: @autoclosure () -> Branch) -> Bool {
        state.withLock { state in
            guard state.waiting > state.branches.count else { return false }
            state.branches.append(branch())
            return true
        }
    }

    /// Waits for a directory.
    /// - Returns: nil if all workers wait, so that none can come any more, or after `stop`.
    func next() -> Branch? {
        state.withLock { state in
            state.waiting += 1
            Self.noteEnd(&state)
        }
        let branch: Branch?? = state.wait(until: .max) { state in
            if state.isOver { return .some(nil) }
            guard let branch = state.branches.popLast() else { return nil }
            state.waiting -= 1
            return branch
        }
        return branch ?? nil
    }

    /// No worker begins with another directory.
    func stop() { state.withLock { $0.isOver = true } }

    /// A worker ends, or was never started.
    /// - Parameter isWaiting: whether it was in `next` last.
    func leave(isWaiting: Bool) {
        state.withLock { state in
            state.workers -= 1
            if isWaiting { state.waiting -= 1 }
            Self.noteEnd(&state)
        }
    }

    /// Waits until all workers have left.
    func join() { _ = state.wait(until: .max) { $0.workers == 0 ? () : nil } }

    private static func noteEnd(_ state: inout State) {
        if state.waiting == state.workers, state.branches.isEmpty { state.isOver = true }
    }
}
