import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// A FORGET may arrive after a LOOKUP that the kernel sent later (docs/internals/coherence.md "A delayed FORGET"). Processed in that
// order, the node keeps the mark of R7 and is forgotten again a second later, with all entries below. So the LOOKUP waits briefly,
// and finds a new node.

/// When a FORGET may be in flight, and how many look-ups wait for one.
final class ForgetWaits: Sendable {
    /// Nanoseconds after an invalidation within which a walk through the directory has sent its next LOOKUP.
    private static let longest: UInt64 = 50_000_000
    private static let mostAtATime = 8

    /// When entries were last invalidated, by a bump or singly, in monotonic nanoseconds.
    private let lastInvalidation = Atomic<UInt64>(0)
    /// The number of look-ups that wait.
    let waiting = Atomic<Int>(0)

    func noteInvalidation() { lastInvalidation.store(SystemTime.monotonic(), ordering: .relaxed) }

    var isAnyLikely: Bool {
        let last = lastInvalidation.load(ordering: .relaxed)
        return last != 0 && SystemTime.monotonic() < last + Self.longest
    }

    /// - Returns: false if further waits could leave requests without a thread.
    func begin() -> Bool {
        if waiting.add(1, ordering: .relaxed).newValue <= Self.mostAtATime { return true }
        end()
        return false
    }

    func end() { waiting.subtract(1, ordering: .relaxed) }
}
