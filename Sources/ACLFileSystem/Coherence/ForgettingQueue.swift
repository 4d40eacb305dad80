import FuseSession
import LinuxSystem

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
    /// Nanoseconds. What falls due in between waits, because a bump may follow.
    private static let granularity: UInt64 = 500_000_000
    private let candidates = Lock<[Candidate]>([])

    /// - Returns: whether it falls due earlier than all others; nothing happens if the node waits already.
    func add(_ node: Node, _ name: UnsafePointer<CChar>, in parent: NodeID) -> Bool {
        guard let seconds = node.revalidation.nextAttempt() else { return false }
        let due = (SystemTime.monotonic() / Self.granularity + 1) * Self.granularity + seconds * 1_000_000_000
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

    /// Those that are due, taken out.
    func takeDue(_ now: UInt64) -> [Candidate] {
        candidates.withLock { candidates in
            let due = candidates.filter { $0.due <= now }
            if !due.isEmpty { candidates.removeAll { $0.due <= now } }
            return due
        }
    }
}
