import LinuxSystem
import Synchronization

/// Until when the kernel may answer with a node's attributes.
struct AttributeTimeout: ~Copyable, Sendable {
    /// Monotonic nanoseconds; 0: the kernel has none. With the lowest bit set: until when timeouts of replies have no effect.
    private let end = Atomic<UInt64>(0)
    private static let isInvalidated: UInt64 = 1
    /// Nanoseconds that a reply may be in flight. The kernel counts from when it processes the reply.
    private static let delay: UInt64 = 1_000_000_000

    private static func end(_ seconds: Double, _ now: UInt64) -> UInt64 {
        (now + UInt64(seconds * 1e9) + delay) & ~isInvalidated
    }

    /// Notes a reply with a timeout.
    /// - Parameters:
    ///   - seconds: the timeout.
    ///   - now: monotonic nanoseconds.
    func extend(seconds: Double, at now: UInt64) {
        let new = Self.end(seconds, now)
        var old = end.load(ordering: .relaxed)
        while old & Self.isInvalidated != 0 ? old <= now : old < new {
            let (exchanged, present) = end.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = present
        }
    }

    /// As `extend`, for a reply that the kernel takes even after an invalidation.
    func replace(seconds: Double, at now: UInt64) {
        end.store(seconds > 0 ? Self.end(seconds, now) : 0, ordering: .relaxed)
    }

    /// Whether the timeout of an earlier reply may still run.
    func isRunning(at now: @autoclosure () -> UInt64) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end & Self.isInvalidated == 0 && end != 0 && end > now()
    }

    /// Whether the kernel once had attributes whose timeout has ended, so that it asks again; after an invalidation, a while later.
    func hasEnded(at now: UInt64) -> Bool {
        let end = end.load(ordering: .relaxed)
        if end & Self.isInvalidated != 0 { return end <= now }
        return end != 0 && end <= now + Self.delay
    }

    /// Whether the attributes were invalidated a moment ago.
    func wasInvalidated(at now: UInt64) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end & Self.isInvalidated != 0 && end > now
    }

    /// Notes that the attributes are invalidated. The kernel discards replies to requests that it sent before, so timeouts have no
    /// effect for a while.
    func invalidate(at now: UInt64) { end.store((now + Self.delay) | Self.isInvalidated, ordering: .relaxed) }
}
