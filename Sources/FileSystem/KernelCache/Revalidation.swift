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

    /// Whether the node is queued for its first attempt.
    var isUntried: Bool { state.load(ordering: .relaxed) & ~Self.allWaits == Self.oneAttempt | Self.queued | Self.possible }

    /// Notes that a bump is about to invalidate the entry, while the node stays queued. It counts as an attempt.
    func noteBump() {
        noteInvalidation()
        state.add(Self.oneAttempt, ordering: .acquiringAndReleasing)
    }

    /// Ends the attempt. A FORGET that has not arrived yet will not come.
    func endAttempt() { state.bitwiseAnd(~(Self.queued | Self.allWaits), ordering: .acquiringAndReleasing) }
}

/// Entries to invalidate later, so that the kernel forgets directories that are marked by R7 and R10 and can cache them again
/// (docs/decisions/0007-forgetting-marked-directories.md).
///
/// Not at once: most directories are marked while programs work in them. Never the working directory of a process: getcwd(2) would fail
/// until its name is looked up again.
final class ForgettingQueue: Sendable {
    struct Candidate: Sendable {
        var node: Node
        var parent: NodeID
        /// With its NUL.
        var name: [CChar]
        /// Monotonic nanoseconds.
        var due: UInt64
    }

    private static let capacity = 4096
    /// Nanoseconds. Deadlines are rounded up to it, because each may be followed by a bump.
    private static let granularity: UInt64 = 500_000_000
    private let candidates = Lock<[Candidate]>([])
    private let isBumpWanted = Atomic<Bool>(false)

    /// Queues a directory, unless it is queued already.
    /// - Returns: true if its deadline is earlier than all others.
    func add(_ node: Node, _ name: UnsafePointer<CChar>, in parent: NodeID) -> Bool {
        guard let seconds = node.exposure.revalidation.beginAttempt() else { return false }
        let due = (SystemTime.monotonic() / Self.granularity + 1) * Self.granularity + seconds * 1_000_000_000
        return candidates.withLock { candidates in
            guard candidates.count < Self.capacity else {
                node.exposure.revalidation.endAttempt()
                return false
            }
            let isEarliest = candidates.allSatisfy { $0.due > due }
            candidates.append(Candidate(node: node, parent: parent, name: name.copied, due: due))
            return isEarliest
        }
    }

    /// Monotonic nanoseconds; nil if the queue is empty.
    var nextDue: UInt64? { candidates.withLock { $0.lazy.map { $0.due }.min() } }

    /// Asks the clock's thread for a bump before the deadlines, by which walks discard the entries themselves.
    func requestBump() { isBumpWanted.store(true, ordering: .sequentiallyConsistent) }

    /// - Returns: if a bump is asked for, those that it is for. They stay queued.
    func takeUntried() -> [Candidate] {
        guard isBumpWanted.exchange(false, ordering: .sequentiallyConsistent) else { return [] }
        return candidates.withLock { $0.filter { $0.node.exposure.revalidation.isUntried } }
    }

    /// Removes those whose deadline has passed.
    /// - Parameter now: monotonic nanoseconds.
    func takeDue(_ now: UInt64) -> [Candidate] {
        candidates.withLock { candidates in
            let due = candidates.filter { $0.due <= now }
            if !due.isEmpty { candidates.removeAll { $0.due <= now } }
            return due
        }
    }
}

/// When a FORGET may be in flight, and how many look-ups wait for one (docs/internals/coherence.md "A delayed FORGET"). It may arrive after a
/// LOOKUP that the kernel sent later. Processed in that order, the node keeps the mark of R7 and is forgotten again a second later, with all
/// entries below. So the LOOKUP waits briefly, and finds a new node.
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
