import Authorization
import FuseSession
import LinuxSystem
import Synchronization

// The kernel takes attributes from an answer in several steps, and whoever looks at them meanwhile takes no lock
// (docs/coherence.md, "Attributes in steps"):
// - It says that they are good before it stores until when. If somebody may not see them any more, then for that moment the old
//   time, which is not over, lets everybody see them.
// - It stores the sticky bit before it takes it out again, since it must not obey it: for that moment it does, and refuses with
//   EPERM what we may have granted.
// So it must not take them at all. It drops what an answer brings if attributes were taken back after the question was
// sent; the caller gets them all the same.

/// Until when the kernel may hold a node's attributes to be good.
struct AttributeTime: ~Copyable, Sendable {
    /// Monotonic nanoseconds.
    private let end = Atomic<UInt64>(0)
    /// The kernel counts from when it uses an answer.
    private static let delay: UInt64 = 1_000_000_000

    /// They are answered with a time.
    /// - Parameter now: monotonic nanoseconds.
    func isGiven(seconds: Double, at now: UInt64) {
        end.max(now + UInt64(seconds * 1e9) + Self.delay, ordering: .relaxed)
    }

    /// Whether an answer without a time may come within the time of an earlier one.
    func isLeft(at now: UInt64) -> Bool { end.load(ordering: .relaxed) > now }

    var wasGiven: Bool { end.load(ordering: .relaxed) != 0 }

    /// The kernel must take the attributes of the next answer.
    func forget() { end.store(0, ordering: .relaxed) }
}

extension FileSystem {
    /// Attributes are about to be answered. With the metadata lock, so that it is known whether they have a time when a change has come
    /// behind the decision.
    /// - Parameters:
    ///   - seconds: that they are good for.
    ///   - isForAll: everybody may see them.
    func noteAnswer(_ object: Loaded, of node: Node, goodFor seconds: Double, isForAll: Bool) {
        if isSticky(object) {
            cache.takeBackAttributes(of: node.id)
        } else if !isForAll, node.attributeTime.wasGiven, node.attributeTime.isLeft(at: SystemTime.monotonic()),
            !changesElsewhere(object.object)
        {
            // The size is known to the kernel that all writing goes through.
            cache.takeBackAttributes(of: node.id)
        }
        if seconds > 0 { node.attributeTime.isGiven(seconds: seconds, at: SystemTime.monotonic()) }
    }

    private func isSticky(_ object: Loaded) -> Bool {
        object.facts.kind == .directory && object.facts.mode.contains(.sticky)
    }
}
