import FuseSession
import LinuxSystem
import Synchronization

/// The mark of R7: the kernel may ask about this directory's name without holding its parent's lock, so that a late
/// answer could bring back what was taken away. While it is set, the name is never handed out; it goes when the
/// kernel has forgotten the node, to which `ForgettingQueue` helps.
struct Revalidation: ~Copyable, Sendable {
    /// In a word, because every object that the kernel remembers has one: two bits, how often a FORGET may still be waited for,
    /// and the attempts above that.
    private let state = Atomic<UInt64>(0)
    private static let possible: UInt64 = 1
    private static let queued: UInt64 = 2
    private static let oneWait: UInt64 = 4
    /// Each walker that is under way at a drop waits once in vain.
    private static let allWaits: UInt64 = 7 * oneWait
    private static let oneAttempt: UInt64 = 32

    var isPossible: Bool { state.load(ordering: .acquiring) & Self.possible != 0 }

    func mark() { state.bitwiseOr(Self.possible, ordering: .acquiringAndReleasing) }

    /// Whether the node should be queued now; then it counts as queued.
    /// - Returns: seconds until the next attempt, more after each that failed because somebody uses the node.
    func beginAttempt() -> UInt64? {
        var old = state.load(ordering: .acquiring)
        while old & Self.possible != 0, old & Self.queued == 0 {
            let (exchanged, now) = state.weakCompareExchange(
                expected: old, desired: (old | Self.queued) + Self.oneAttempt, ordering: .acquiringAndReleasing)
            if exchanged { return 1 << min(old / Self.oneAttempt, 6) }
            old = now
        }
        return nil
    }

    /// The name is about to be dropped, or was just now.
    func noteInvalidation() { state.bitwiseOr(Self.allWaits, ordering: .acquiringAndReleasing) }

    /// Whether the name was dropped, and a look-up may wait for the FORGET; counts it.
    func takeForgetWait() -> Bool {
        var old = state.load(ordering: .acquiring)
        while old & Self.allWaits != 0 {
            let (exchanged, now) = state.weakCompareExchange(
                expected: old, desired: old - Self.oneWait, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            old = now
        }
        return false
    }

    /// Whether a bump is worth while for this attempt. Whoever is in a directory for long is there after any bump.
    var isEarlyAttempt: Bool { state.load(ordering: .relaxed) / Self.oneAttempt <= 4 }

    /// What was not waited for until now will not come.
    func endAttempt() { state.bitwiseAnd(~(Self.queued | Self.allWaits), ordering: .acquiringAndReleasing) }
}
