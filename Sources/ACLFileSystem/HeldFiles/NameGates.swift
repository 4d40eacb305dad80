import BackingStore
import LinuxSystem
import Synchronization

/// Directories whose names a spare thread is changing. unlink(2), rename(2) and link(2) wait for a held file with the lock of
/// the backing directory in hand, so whatever needs that lock waits here instead, and not for long
/// (docs/decisions/0020-held-files.md, "Names").
final class NameGates: Sendable {
    enum Gate: Hashable {
        case directory(ObjectKey)
        /// Renames from one directory to another: the backing file system makes one at a time.
        case crossing
    }

    private let closed = Monitor<Set<Gate>>([])
    private let count = Atomic<Int>(0)

    /// Whether anybody changes names in this directory. With the metadata lock in hand the answer stays true until that is
    /// let go, because whoever closes a gate takes the lock for writing before it acts.
    func isClosed(_ gate: @autoclosure () -> Gate) -> Bool {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let gate = gate()
        return closed.withLock { $0.contains(gate) }
    }

    /// - Parameter deadline: monotonic nanoseconds.
    /// - Returns: false if one of them was still closed then.
    func close(_ gates: Set<Gate>, until deadline: UInt64) -> Bool {
        let isDone = closed.wait(until: deadline) { closed -> Bool? in
            guard closed.isDisjoint(with: gates) else { return nil }
            closed.formUnion(gates)
            return true
        }
        if isDone == true { count.add(1, ordering: .sequentiallyConsistent) }
        return isDone == true
    }

    func open(_ gates: Set<Gate>) {
        closed.withLock { $0.subtract(gates) }
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Returns when all gates are open, or at `deadline`.
    func awaitOpening(until deadline: UInt64) {
        _ = closed.wait(until: deadline) { $0.isEmpty ? true : nil }
    }
}
