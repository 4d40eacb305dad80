import BackingStore
import LinuxSystem
import Synchronization

/// Directories whose names a spare thread is changing. unlink(2), rename(2) and link(2) wait for a held file with the lock of
/// the backing directory in hand, so whatever needs that lock waits here instead, and not for long
/// (docs/decisions/0020-held-files.md "Names").
final class NameGates: Sendable {
    enum Gate: Hashable {
        case directory(ObjectKey)
        /// Renames from one directory to another: the backing file system makes one at a time.
        case crossing
    }

    private struct State {
        var closed: Set<Gate> = []
        /// How many times one was opened.
        var openings: UInt64 = 0
    }

    private let state = Monitor(State())
    private let count = Atomic<Int>(0)

    /// Whether anybody changes names in this directory. With the metadata lock in hand the answer stays true until that is
    /// let go, because whoever closes a gate takes the lock for writing before it acts.
    func isClosed(_ gate: @autoclosure () -> Gate) -> Bool {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let gate = gate()
        return state.withLock { $0.closed.contains(gate) }
    }

    /// How many changes of names are under way.
    var changesInFlight: Int { count.load(ordering: .sequentiallyConsistent) }

    /// - Parameter deadline: monotonic nanoseconds.
    /// - Returns: false if one of them was still closed then.
    func close(_ gates: Set<Gate>, until deadline: UInt64) -> Bool {
        let isDone = state.wait(until: deadline) { state -> Bool? in
            guard state.closed.isDisjoint(with: gates) else { return nil }
            state.closed.formUnion(gates)
            return true
        }
        if isDone == true { count.add(1, ordering: .sequentiallyConsistent) }
        return isDone == true
    }

    func open(_ gates: Set<Gate>) {
        state.withLock { state in
            state.closed.subtract(gates)
            state.openings += 1
        }
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Before it is looked whether a gate is open.
    var openings: UInt64 { state.withLock { $0.openings } }

    /// Returns when a gate was opened since `openings`, or at `deadline`.
    func awaitOpening(since openings: UInt64, until deadline: UInt64) {
        _ = state.wait(until: deadline) { $0.openings != openings ? true : nil }
    }
}
