import FuseSession
import LinuxSystem
import Synchronization

/// The mark of R7: the kernel may ask about this directory's name without holding its parent's lock, so that a late
/// answer could bring back what was taken away. While it is set, the name is never handed out; it goes when the
/// kernel has forgotten the node, to which `ForgettingQueue` helps.
struct Revalidation: ~Copyable, Sendable {
    /// In a word, because every object that the kernel remembers has one: two bits, and the attempts above them.
    private let state = Atomic<UInt64>(0)
    private static let possible: UInt64 = 1
    private static let queued: UInt64 = 2

    var isPossible: Bool { state.load(ordering: .acquiring) & Self.possible != 0 }

    func mark() { state.bitwiseOr(Self.possible, ordering: .acquiringAndReleasing) }

    /// Whether the node should be queued now; then it counts as queued.
    /// - Returns: seconds until the next attempt, more after each that failed because somebody uses the node.
    func nextAttempt() -> UInt64? {
        var old = state.load(ordering: .acquiring)
        while old & Self.possible != 0, old & Self.queued == 0 {
            let (exchanged, now) = state.weakCompareExchange(
                expected: old, desired: (old | Self.queued) + 4, ordering: .acquiringAndReleasing)
            if exchanged { return 1 << min(old >> 2, 6) }
            old = now
        }
        return nil
    }

    func attemptIsOver() { state.bitwiseAnd(~Self.queued, ordering: .acquiringAndReleasing) }
}

/// Names to be dropped from the kernel, so that it forgets directories marked by R7 and R10 and they can be cached
/// again (docs/decisions/0007-forgetting-marked-directories.md).
///
/// Not at once: most of them are marked in the middle of work in them. And never the working directory of a process,
/// which would have no path (getcwd fails) until somebody looked its name up again.
final class ForgettingQueue: Sendable {
    struct Candidate: Sendable {
        var node: Node
        var parent: NodeID
        /// Ends in NUL.
        var name: [CChar]
        /// Monotonic nanoseconds.
        var due: UInt64
    }

    private static let capacity = 4096
    private let candidates = Lock<[Candidate]>([])
    /// Monotonic nanoseconds until which the kernel may have forgotten what was dropped last, and we not heard of it.
    private let droppingUntil = Atomic<UInt64>(0)

    /// - Returns: whether it falls due earlier than all others; nothing happens if the node waits already.
    func add(_ node: Node, _ name: UnsafePointer<CChar>, in parent: NodeID) -> Bool {
        guard let seconds = node.revalidation.nextAttempt() else { return false }
        let due = SystemTime.monotonic() + seconds * 1_000_000_000
        return candidates.withLock { candidates in
            guard candidates.count < Self.capacity else {
                node.revalidation.attemptIsOver()
                return false
            }
            let isEarliest = candidates.allSatisfy { $0.due > due }
            candidates.append(Candidate(node: node, parent: parent, name: name.copied, due: due))
            return isEarliest
        }
    }

    var nextDue: UInt64? { candidates.withLock { $0.lazy.map { $0.due }.min() } }

    /// A name is about to be dropped, or was just now.
    func noteDrop(_ now: UInt64) { droppingUntil.store(now + 10_000_000, ordering: .relaxed) }

    func isDropping(_ now: UInt64) -> Bool { now < droppingUntil.load(ordering: .relaxed) }

    /// Those that are due, taken out.
    func take(_ now: UInt64) -> [Candidate] {
        candidates.withLock { candidates in
            let due = candidates.filter { $0.due <= now }
            if !due.isEmpty { candidates.removeAll { $0.due <= now } }
            return due
        }
    }
}
