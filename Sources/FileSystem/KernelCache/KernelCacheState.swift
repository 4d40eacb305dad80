import ACLFormats
import FuseSession
import LinuxSystem
import Synchronization

/// The state of a `KernelCache` under its lock: the present epoch, what is exposed in it, and the deadlines of bumps.
struct KernelCacheState {
    let forgets: ForgetWaits
    var notifier: Notifier?
    /// nil if the daemon cannot watch the mount table.
    var mountTable: MountTableChanges?
    var hasEpoch = false
    var allowed = CacheTimeouts.none
    var suspension: KernelCache.Suspension = []
    /// Never less than the kernel's epoch, because it is raised first.
    var epoch: UInt64 = 1
    var exposed = ExposedEntries()
    var directories = ExposedDirectories()
    /// A deadline is earlier than the clock thread knows.
    var hasEarlierDeadline = false
    /// READDIRPLUS replies that the kernel may not have used yet, of all directories.
    var unusedListings = 0
    /// The bytes of their entries.
    var unusedBytes = 0
    var periodicBump: UInt64?
    /// The deadline of a bump that `requestBump` asked for.
    var requestedBump: UInt64?
    var deferred = DeferredBumps()
    var bumps: UInt64 = 0
    var inFlight = NamesInFlight()
    /// Entries of listings of earlier epochs that the kernel used while something was mounted below. They are not invalidated yet.
    var deferredBatch: NamesInFlight.Batch?
    var budget = BumpBudget()
    /// When a bump was last made to make uncacheable entries cacheable again, in monotonic nanoseconds.
    var lastRecoveryBump: UInt64 = 0

    var timeouts: CacheTimeouts {
        var timeouts = allowed
        if !suspension.isEmpty { (timeouts.entry, timeouts.period) = (0, nil) }
        if !suspension.isDisjoint(with: [.severalMounts, .policyChange]) { (timeouts.attributes, timeouts.watchedAttributes) = (0, 0) }
        return timeouts
    }

    mutating func bump() {
        // Raised before the kernel's epoch, so that the mark of an exposure is never older than its stamp.
        beginEpoch()
        bumps += 1
        forgets.noteInvalidation()
        if hasEpoch { notifier?.increaseEpoch() }
    }

    /// Whether the mount table is read, so that a bump without a revocation may be made. Otherwise wakes the clock thread to read
    /// it.
    mutating func confirmMountTable() -> Bool {
        guard mountTable?.confirmRead(SystemTime.monotonic()) == false else { return true }
        hasEarlierDeadline = true
        return false
    }

    /// Whether the deadline of a bump has passed.
    func isBumpDue(_ now: UInt64) -> Bool { [deferred.next, requestedBump, periodicBump].contains { $0.map { $0 <= now } ?? false } }

    /// Whether the kernel may hold an entry of this epoch. While something is mounted below, only until all are invalidated.
    var isAnythingExposed: Bool {
        guard !suspension.contains(.mountsBelow) else { return !exposed.isEmpty || !inFlight.isEmpty }
        return allowed.entry > 0
    }

    /// Begins an epoch, in which nothing is exposed yet.
    mutating func beginEpoch() {
        epoch += 1
        exposed.removeAll()
        directories.removeAll()
        (periodicBump, requestedBump) = (nil, nil)
        guard unusedListings > 0 else { return }
        // A listing that is used from now on has the stamp of this epoch, but its entries were looked up in an earlier one.
        markUncertainAndScheduleBump()
    }

    mutating func markUncertainAndScheduleBump() {
        directories.markUncertain()
        schedulePeriodicBump()
    }

    /// Whether a periodic bump is needed and would detach nothing. If not, cancels it.
    mutating func confirmBump() -> Bool {
        if suspension.isEmpty, !exposed.isEmpty || directories.areUncertain { return true }
        periodicBump = nil
        return false
    }

    /// Whether the ctimes of the directories may confirm the entries for another period, in milliseconds.
    func mayExtend(_ now: UInt64, _ period: UInt64) -> Bool {
        exposed.isShort && directories.mayBeConfirmed(now, period)
    }

    /// As `mayExtend`, once repeated entries are left out.
    func mayExtendCompacted(_ now: UInt64, _ period: UInt64) -> Bool {
        exposed.size <= ExposedEntries.mostToCompact && directories.mayBeConfirmed(now, period)
    }

    /// The deadline of the invalidations in flight. A program can keep a directory locked, so a bump then invalidates all entries,
    /// although it may detach a mount.
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

    /// Decides whether an entry may be cacheable (docs/internals/coherence.md "A walk that trusts nothing"). A directory that is looked up
    /// unexpectedly gets the mark of R7. Another object that was answered uncacheable is cacheable after a bump, at most one each
    /// second.
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

    /// - Parameter lastCacheable: of the directory that is looked up.
    func isUnexpectedLookup(_ lastCacheable: UInt64) -> Bool { lastCacheable > bumps }

    mutating func schedulePeriodicBump() {
        guard periodicBump == nil, let period = allowed.period else { return }
        let now = SystemTime.monotonic()
        periodicBump = now + period * 1_000_000
        directories.begin(now)
        hasEarlierDeadline = true
    }
}
