import Authorization
import FuseSession
import LinuxSystem
import Synchronization

// The kernel takes attributes from an answer in several steps, and whoever looks at them meanwhile takes no lock
// (docs/coherence.md "Attributes in steps"):
// - It says that they are good before it stores until when. If somebody may not see them any more, then for that moment the old
//   time, which is not over, lets everybody see them.
// - It stores the sticky bit before it takes it out again, since it must not obey it: for that moment it does, and refuses with
//   EPERM what we may have granted.
// So it must not take them at all. It drops what an answer brings if attributes were taken back after the question was
// sent; the caller gets them all the same.

/// Until when the kernel may hold a node's attributes to be good.
struct AttributeTime: ~Copyable, Sendable {
    /// Monotonic nanoseconds; 0 = it holds none to be good. With the lowest bit set: until when no time counts.
    private let end = Atomic<UInt64>(0)
    private static let isForgotten: UInt64 = 1
    /// Nanoseconds. The kernel counts from when it uses an answer.
    private static let delay: UInt64 = 1_000_000_000

    private static func end(_ seconds: Double, _ now: UInt64) -> UInt64 {
        (now + UInt64(seconds * 1e9) + delay) & ~isForgotten
    }

    /// They are answered with a time.
    /// - Parameter now: monotonic nanoseconds.
    func give(seconds: Double, at now: UInt64) {
        let new = Self.end(seconds, now)
        var old = end.load(ordering: .relaxed)
        while old & Self.isForgotten != 0 ? old <= now : old < new {
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
    func isLeft(at now: @autoclosure () -> UInt64) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end & Self.isForgotten == 0 && end != 0 && end > now()
    }

    /// The kernel must take what it is answered next. What is answered now may be dropped, because it was asked before
    /// attributes were taken back: so no time counts for a while.
    func forget(at now: UInt64) { end.store((now + Self.delay) | Self.isForgotten, ordering: .relaxed) }
}

extension KernelView {
    /// Before attributes are answered: sees to it that the kernel does not take them where its steps would show. With the metadata
    /// lock, so that it is known whether they have a time when a change has come behind the decision.
    /// - Parameters:
    ///   - seconds: that they are good for.
    ///   - isForAll: everybody may see them.
    func prepareAnswer(_ object: ObjectState, of node: Node, goodFor seconds: Double, isForAll: Bool) {
        if isSticky(object) || !isForAll && knowsAllChanges && node.attributeTime.isLeft(at: SystemTime.monotonic()) {
            cache.invalidateAttributes(of: node.id)
        }
        if seconds > 0 { node.attributeTime.give(seconds: seconds, at: SystemTime.monotonic()) }
    }

    /// Whether the kernel can do without the sizes, link counts and times in an answer, since all that changes them comes through it.
    private var knowsAllChanges: Bool { !share.hasSeveralMounts }

    func isSticky(_ object: ObjectState) -> Bool {
        object.facts.kind == .directory && object.facts.mode.contains(.sticky)
    }
}
