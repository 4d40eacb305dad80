import FuseSession
import Testing

@testable import ACLFileSystem

/// The kernel may take the attributes of a reply that was in flight when they were invalidated.
struct UnknownNodesTests {
    private static let millisecond: UInt64 = 1_000_000

    @Test func areInvalidatedUntilTheKernelKnowsThem() {
        let unknown = UnknownNodes()
        #expect(unknown.nextDue == nil)
        let start = 5 * Self.millisecond
        let isFirst = unknown.add(NodeID(7), at: start)
        #expect(isFirst)
        var attempts: [UInt64] = []
        while let due = unknown.nextDue, attempts.count < 10 {
            unknown.invalidateDue(due - 1) { _ in
                Issue.record("too early")
                return true
            }
            unknown.invalidateDue(due) { node in
                #expect(node == NodeID(7))
                attempts.append((due - start) / Self.millisecond)
                return false
            }
        }
        // A reply is in flight for a second at most (AttributeTimeout).
        #expect(attempts == [20, 200, 1000])
    }

    @Test func onceIsEnoughForAKnownOne() {
        let unknown = UnknownNodes()
        for node: UInt64 in [7, 8] { _ = unknown.add(NodeID(node), at: 0) }
        unknown.invalidateDue(.max / 2) { $0 == NodeID(7) }
        var left: [NodeID] = []
        unknown.invalidateDue(.max / 2) {
            left.append($0)
            return true
        }
        #expect(left == [NodeID(8)])
        #expect(unknown.nextDue == nil)
    }

    @Test func theirNumberIsLimited() {
        let unknown = UnknownNodes()
        var added = 0
        while unknown.add(NodeID(UInt64(added + 2)), at: 0), added < 100_000 { added += 1 }
        #expect(added == 4096)
    }
}
