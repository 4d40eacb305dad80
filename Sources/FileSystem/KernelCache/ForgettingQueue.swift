import FuseSession
import LinuxSystem

/// Entries to invalidate later, so that the kernel forgets directories that are marked by R7 and R10 and can cache them again
/// (docs/decisions/0007-forgetting-marked-directories.md).
///
/// Not at once: most directories are marked while programs work in them. Never the working directory of a process: getcwd(2) would fail
/// until its name is looked up again.
final class ForgettingQueue: Sendable {
    struct Candidate: Sendable {
        var node: Node
        var parent: NodeID
        /// With its NUL.
        var name: [CChar]
        /// Monotonic nanoseconds.
        var due: UInt64
    }

    private static let capacity = 4096
    /// Nanoseconds. Deadlines are rounded up to it, because each may be followed by a bump.
    private static let granularity: UInt64 = 500_000_000
    private let candidates = Lock<[Candidate]>([])

    /// Queues a directory, unless it is queued already.
    /// - Returns: true if its deadline is earlier than all others.
    func add(_ node: Node, _ name: UnsafePointer<CChar>, in parent: NodeID) -> Bool {
        guard let seconds = node.revalidation.beginAttempt() else { return false }
        let due = (SystemTime.monotonic() / Self.granularity + 1) * Self.granularity + seconds * 1_000_000_000
        return candidates.withLock { candidates in
            guard candidates.count < Self.capacity else {
                node.revalidation.endAttempt()
                return false
            }
            let isEarliest = candidates.allSatisfy { $0.due > due }
            candidates.append(Candidate(node: node, parent: parent, name: name.copied, due: due))
            return isEarliest
        }
    }

    /// Monotonic nanoseconds; nil if the queue is empty.
    var nextDue: UInt64? { candidates.withLock { $0.lazy.map { $0.due }.min() } }

    /// Removes those whose deadline has passed.
    /// - Parameter now: monotonic nanoseconds.
    func takeDue(_ now: UInt64) -> [Candidate] {
        candidates.withLock { candidates in
            let due = candidates.filter { $0.due <= now }
            if !due.isEmpty { candidates.removeAll { $0.due <= now } }
            return due
        }
    }
}
