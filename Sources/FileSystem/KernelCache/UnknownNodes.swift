import FuseSession
import LinuxSystem

/// Nodes whose attributes were invalidated before the kernel knew them: the reply that exposes the node was in flight, and the kernel takes
/// its attributes. So they are invalidated again a little later, until the kernel knows the node.
///
/// By name the object is looked up anew. Only a caller who has opened it in that moment would keep the old attributes.
final class UnknownNodes: Sendable {
    private struct Candidate {
        var node: NodeID
        var attempt: Int
        /// Monotonic nanoseconds.
        var due: UInt64
    }

    /// Nanoseconds after the invalidation. A reply takes less than the last one.
    private static let delays: [UInt64] = [20_000_000, 200_000_000, 1_000_000_000]
    private static let capacity = 4096
    private let candidates = Lock<[Candidate]>([])

    /// - Returns: true if its deadline may be earlier than all others.
    func add(_ node: NodeID, at now: UInt64) -> Bool {
        candidates.withLock { candidates in
            guard candidates.count < Self.capacity else { return false }
            candidates.append(Candidate(node: node, attempt: 0, due: now + Self.delays[0]))
            return true
        }
    }

    /// Monotonic nanoseconds; nil if there are none.
    var nextDue: UInt64? { candidates.withLock { $0.lazy.map { $0.due }.min() } }

    /// Invalidates those whose deadline has passed.
    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - invalidate: returns whether the kernel knows the node. Called without a lock.
    func invalidateDue(_ now: UInt64, _ invalidate: (NodeID) -> Bool) {
        let due = candidates.withLock { candidates in
            let due = candidates.filter { $0.due <= now }
            if !due.isEmpty { candidates.removeAll { $0.due <= now } }
            return due
        }
        let left = due.filter { !invalidate($0.node) && $0.attempt + 1 < Self.delays.count }
        guard !left.isEmpty else { return }
        candidates.withLock { candidates in
            for candidate in left {
                let attempt = candidate.attempt + 1
                let due = candidate.due - Self.delays[candidate.attempt] + Self.delays[attempt]
                candidates.append(Candidate(node: candidate.node, attempt: attempt, due: due))
            }
        }
    }
}
