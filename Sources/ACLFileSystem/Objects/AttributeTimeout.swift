import LinuxSystem
import Synchronization

/// Until when the kernel may hold a node's attributes to be good.
struct AttributeTimeout: ~Copyable, Sendable {
    /// Monotonic nanoseconds; 0 = it holds none to be good. With the lowest bit set: until when no time counts.
    private let end = Atomic<UInt64>(0)
    private static let isInvalidated: UInt64 = 1
    /// Nanoseconds. The kernel counts from when it uses an answer.
    private static let delay: UInt64 = 1_000_000_000

    private static func end(_ seconds: Double, _ now: UInt64) -> UInt64 {
        (now + UInt64(seconds * 1e9) + delay) & ~isInvalidated
    }

    /// They are answered with a time.
    /// - Parameter now: monotonic nanoseconds.
    func extend(seconds: Double, at now: UInt64) {
        let new = Self.end(seconds, now)
        var old = end.load(ordering: .relaxed)
        while old & Self.isInvalidated != 0 ? old <= now : old < new {
            let (exchanged, present) = end.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = present
        }
    }

    /// The same with an answer that the kernel takes whatever was taken back meanwhile.
    func replace(seconds: Double, at now: UInt64) {
        end.store(seconds > 0 ? Self.end(seconds, now) : 0, ordering: .relaxed)
    }

    /// Whether an answer without a time may come within the time of an earlier one.
    func isRunning(at now: @autoclosure () -> UInt64) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end & Self.isInvalidated == 0 && end != 0 && end > now()
    }

    /// The kernel must take what it is answered next. What is answered now may be dropped, because it was asked before
    /// attributes were taken back: so no time counts for a while.
    func invalidate(at now: UInt64) { end.store((now + Self.delay) | Self.isInvalidated, ordering: .relaxed) }
}
