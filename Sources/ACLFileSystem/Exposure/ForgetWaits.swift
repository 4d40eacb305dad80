import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// A directory that the kernel has forgotten and asks for again at once: its FORGET, for which nobody waits, comes behind the
// LOOKUP that was sent after it. Answered in that order the node would have, or keep, the mark of R7, and be forgotten once more
// a second later with all that is below it, under whoever is at work there. So the LOOKUP waits a moment, and finds a new
// node then (docs/coherence.md "A FORGET that comes late").

/// When there may be FORGETs to wait for, and how many look-ups wait.
final class ForgetWaits: Sendable {
    /// Nanoseconds behind a loss within which somebody who was at work there has asked again.
    private static let longest: UInt64 = 50_000_000
    private static let mostAtATime = 8

    /// Monotonic nanoseconds when we last made the kernel lose entries, by a bump or by dropping a name.
    private let lastInvalidation = Atomic<UInt64>(0)
    /// How many look-ups wait now.
    let waiting = Atomic<Int>(0)

    func noteInvalidation() { lastInvalidation.store(SystemTime.monotonic(), ordering: .relaxed) }

    var isAnyLikely: Bool {
        let last = lastInvalidation.load(ordering: .relaxed)
        return last != 0 && SystemTime.monotonic() < last + Self.longest
    }

    /// - Returns: false if so many wait that requests could find no thread.
    func begin() -> Bool {
        if waiting.add(1, ordering: .relaxed).newValue <= Self.mostAtATime { return true }
        end()
        return false
    }

    func end() { waiting.subtract(1, ordering: .relaxed) }
}
