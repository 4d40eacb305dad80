import FuseSession
import LinuxSystem
import Synchronization

/// The mark of R7. The kernel may look up the directory without the lock of its parent, so a stale reply could restore an
/// invalidated entry. A marked node is never answered with a timeout. The mark ends when the kernel forgets the node;
/// `ForgettingQueue` helps.
struct Revalidation: ~Copyable, Sendable {
    /// One word, because each node has one. Two bits, then how often a FORGET may still be awaited, then the number of attempts.
    private let state = Atomic<UInt64>(0)
    private static let possible: UInt64 = 1
    private static let queued: UInt64 = 2
    private static let oneWait: UInt64 = 4
    /// Each walk that is in flight at an invalidation waits once in vain.
    private static let allWaits: UInt64 = 7 * oneWait
    private static let oneAttempt: UInt64 = 32

    var isPossible: Bool { state.load(ordering: .acquiring) & Self.possible != 0 }

    func mark() { state.bitwiseOr(Self.possible, ordering: .acquiringAndReleasing) }

    /// Begins an attempt to make the kernel forget the node.
    /// - Returns: seconds until the attempt, doubled after each failure; nil if the node is queued or not marked.
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

    /// Notes that the entry is being invalidated.
    func noteInvalidation() { state.bitwiseOr(Self.allWaits, ordering: .acquiringAndReleasing) }

    /// Uses one of the waits for a FORGET.
    /// - Returns: false if the entry was not invalidated, or all waits are used.
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

    /// Whether a bump may help this attempt. A program that stays in a directory is still there after any bump.
    var isEarlyAttempt: Bool { state.load(ordering: .relaxed) / Self.oneAttempt <= 4 }

    /// Ends the attempt. A FORGET that has not arrived yet will not come.
    func endAttempt() { state.bitwiseAnd(~(Self.queued | Self.allWaits), ordering: .acquiringAndReleasing) }
}
