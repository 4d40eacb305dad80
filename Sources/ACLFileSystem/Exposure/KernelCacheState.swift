import ACLFormats
import FuseSession
import LinuxSystem
import Synchronization

/// What a `KernelCache` knows, under its lock: the present epoch, what was handed out in it, and when that ends.
struct KernelCacheState {
    let forgets: ForgetWaits
    var notifier: Notifier?
    /// nil if what is mounted below cannot be seen.
    var mountTable: MountTableChanges?
    var hasEpoch = false
    var allowed = CacheTimeouts.none
    var suspension: KernelCache.Suspension = []
    /// Never less than the kernel's own: raised before the kernel is told.
    var epoch: UInt64 = 1
    var exposed = ExposedEntries()
    var directories = ExposedDirectories()
    /// Something falls due earlier than the clock thread knows.
    var hasEarlierDeadline = false
    /// READDIRPLUS replies that the kernel may not have used yet, of all directories.
    var unusedListings = 0
    /// What they show.
    var unusedBytes = 0
    var periodicBump: UInt64?
    /// When a bump is due because directories that were to be forgotten are known still.
    var requestedBump: UInt64?
    var deferred = DeferredBumps()
    var bumps: UInt64 = 0
    var inFlight = NamesInFlight()
    /// What listings of earlier epochs showed that were used while something was mounted below. Not yet taken back.
    var deferredBatch: NamesInFlight.Batch?
    /// When a bump was last made for the sake of names that were answered without a time.
    var lastRecoveryBump: UInt64 = 0

    var timeouts: CacheTimeouts {
        var timeouts = allowed
        if !suspension.isEmpty { (timeouts.entry, timeouts.period) = (0, nil) }
        if !suspension.isDisjoint(with: [.severalMounts, .policyChange]) { timeouts.attributes = 0 }
        return timeouts
    }

    mutating func bump() {
        // Ours first: a hand-out that runs meanwhile is marked with an epoch that is never behind its stamp.
        beginEpoch()
        bumps += 1
        forgets.noteInvalidation()
        if hasEpoch { notifier?.increaseEpoch() }
    }

    /// Whether a bump that no taken right waits for may be made: not while something may be mounted below that nobody has seen.
    mutating func confirmMountTable() -> Bool {
        guard mountTable?.confirmRead(SystemTime.monotonic()) == false else { return true }
        hasEarlierDeadline = true
        return false
    }

    /// Whether names are due to be taken back because time has passed.
    func isBumpDue(_ now: UInt64) -> Bool { [deferred.next, requestedBump, periodicBump].contains { $0.map { $0 <= now } ?? false } }

    /// Whether a name that was handed out may still be believed. None is while something is mounted below, once all that
    /// were have been taken back.
    var isAnythingExposed: Bool {
        guard !suspension.contains(.mountsBelow) else { return !exposed.isEmpty || !inFlight.isEmpty }
        return allowed.entry > 0
    }

    /// What was handed out counts no longer.
    mutating func beginEpoch() {
        epoch += 1
        exposed.removeAll()
        directories.removeAll()
        (periodicBump, requestedBump) = (nil, nil)
        guard unusedListings > 0 else { return }
        // Used from now on, it is stamped with this epoch, and what it shows was looked for in an earlier one.
        markUncertainAndScheduleBump()
    }

    mutating func markUncertainAndScheduleBump() {
        directories.markUncertain()
        schedulePeriodicBump()
    }

    /// Whether the kernel may believe a name, and no bump would do harm. If not, none is due any more.
    mutating func confirmBump() -> Bool {
        if suspension.isEmpty, !exposed.isEmpty || directories.areUncertain { return true }
        periodicBump = nil
        return false
    }

    /// Whether names may stay for a period (milliseconds) more if their directories have not changed.
    func mayExtend(_ now: UInt64, _ period: UInt64) -> Bool {
        exposed.isShort && directories.mayBeConfirmed(now, period)
    }

    /// Whoever holds a directory back may not keep what its names lead to: then all are taken back at once, and what was
    /// mounted below a moment ago may be detached.
    var inFlightDeadline: UInt64? {
        guard let oldest = inFlight.oldest, let period = allowed.period else { return nil }
        return oldest + min(period, Self.longestInFlight) * 1_000_000
    }

    /// Milliseconds.
    static let longestInFlight: UInt64 = 1000

    mutating func deferInvalidation(_ names: ExposedEntries) {
        if deferredBatch == nil {
            deferredBatch = inFlight.begin(names, at: SystemTime.monotonic())
            hasEarlierDeadline = true
        } else if deferredBatch?.names.isFull == true {
            bump()
        } else {
            deferredBatch?.names.append(names)
        }
    }

    /// Whether a name may have a time. Where the kernel asks without a lock, a late answer would bring back what was taken.
    ///
    /// A directory's name that was given a time since the last bump is not asked for again, but by a walk that trusts nothing
    /// (LOOKUP_REVAL, behind somebody's ESTALE), by mkdir(2) or rename(2) onto it, or if the kernel has lost it. Then it has
    /// the mark of R7. Another's that was answered without a time has one again behind a bump; one is made for that, not
    /// more often than each second.
    mutating func admitToCache(_ node: Node, isListed: Bool) -> Bool {
        if node.isDirectory {
            if !isListed, isUnexpectedLookup(node.lastCacheable.load(ordering: .relaxed)) {
                node.revalidation.mark()
                return false
            }
            node.lastCacheable.store(bumps + 1, ordering: .relaxed)
            return true
        }
        guard node.lastUncacheable.load(ordering: .relaxed) > bumps else { return true }
        let now = SystemTime.monotonic()
        guard now >= lastRecoveryBump + 1_000_000_000, confirmMountTable() else { return false }
        lastRecoveryBump = now
        bump()
        return true
    }

    /// - Parameter lastWithTime: of a directory that is looked up.
    func isUnexpectedLookup(_ lastCacheable: UInt64) -> Bool { lastCacheable > bumps }

    mutating func schedulePeriodicBump() {
        guard periodicBump == nil, let period = allowed.period else { return }
        let now = SystemTime.monotonic()
        periodicBump = now + period * 1_000_000
        directories.begin(now)
        hasEarlierDeadline = true
    }
}
