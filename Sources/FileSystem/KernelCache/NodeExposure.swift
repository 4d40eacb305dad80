import LinuxSystem
import Synchronization

/// What the kernel of a mount got of one node and may still use: entries below a directory and listings of it, the node's own entry, its
/// attributes (docs/internals/coherence.md). Every node has one inline. What concerns all nodes, as epochs and bumps, is in `KernelCache`.
struct NodeExposure: ~Copyable, Sendable {
    /// Whether a stale reply could bring the node's entry back (R7, R10).
    let revalidation = Revalidation()
    /// Until when the attributes are valid (R11, R12).
    let attributeTimeout = AttributeTimeout()

    /// Of a directory: the epoch in which an entry below it was last exposed.
    private let lastExposure = Atomic<UInt64>(0)
    /// Of a directory: READDIRPLUS replies that the kernel may not have used yet (R5).
    private let unusedListings = Atomic<Int>(0)
    /// Of a directory: when it was last listed from its beginning, in monotonic nanoseconds.
    private let lastListed = Atomic<UInt64>(0)
    /// Of a directory: the number of bumps, plus one, when its entry was last answered with a timeout; 0: none is left.
    private let lastCacheable = Atomic<UInt64>(0)
    /// Of any other object: the number of bumps, plus one, when its entry was last answered uncacheable; 0: never.
    private let lastUncacheable = Atomic<UInt64>(0)
    /// Of a directory: its ctime before the first entry of the epoch `lastExposure` was looked up.
    private let ctimeSeconds = Atomic<Int64>(0)
    private let ctimeNanoseconds = Atomic<UInt32>(0)
    // The small ones last, because every node has them.
    private let areListingsInvalid = Atomic<Bool>(false)
    private let isListedAtRest = Atomic<Bool>(false)
    private let isChangedElsewhere = Atomic<Bool>(false)
}

// MARK: Entries below a directory

extension NodeExposure {
    /// Notes that an entry below is exposed. Call under the lock of the kernel cache, which counts the epochs.
    /// - Returns: whether it is the first one of this epoch.
    @discardableResult func noteExposure(in epoch: UInt64) -> Bool {
        let isFirst = lastExposure.load(ordering: .relaxed) < epoch
        lastExposure.store(epoch, ordering: .relaxed)
        return isFirst
    }

    /// Whether the kernel may have an entry below that is valid in this epoch, or may yet store one from a listing.
    func mayHaveEntries(of epoch: UInt64) -> Bool { hasUnusedListing || lastExposure.load(ordering: .relaxed) >= epoch }

    /// Whether only a bump invalidates all entries below (R2). Unused listings count, unless an earlier bump was enough for them.
    func needsBump(in epoch: UInt64) -> Bool {
        hasUnusedListing && !areListingsInvalid.load(ordering: .sequentiallyConsistent)
            || lastExposure.load(ordering: .relaxed) >= epoch
    }

    /// Notes the ctime that the directory had before the first entry of the epoch was looked up. Call under the lock of the kernel cache.
    func noteCtime(_ ctime: Timespec) {
        ctimeSeconds.store(ctime.sec, ordering: .relaxed)
        ctimeNanoseconds.store(ctime.nsec, ordering: .relaxed)
    }

    /// Whether that ctime was this one. Call under the lock of the kernel cache.
    func hadCtime(_ ctime: Timespec) -> Bool {
        ctimeSeconds.load(ordering: .relaxed) == ctime.sec && ctimeNanoseconds.load(ordering: .relaxed) == ctime.nsec
    }
}

// MARK: Listings of a directory

extension NodeExposure {
    /// Notes that a listing with objects is about to be made, before their facts are read (R5).
    func beginListing() { unusedListings.add(1, ordering: .sequentiallyConsistent) }

    /// Notes that a listing shows an object: no earlier bump is enough for it.
    func noteListedObject() { areListingsInvalid.store(false, ordering: .sequentiallyConsistent) }

    /// Notes that the kernel has used one of the listings (R5).
    func markListingUsed() { unusedListings.subtract(1, ordering: .sequentiallyConsistent) }

    /// Whether the kernel may still use a listing with objects. Then a change without the kernel's lock needs a barrier (R4).
    var hasUnusedListing: Bool { unusedListings.load(ordering: .sequentiallyConsistent) > 0 }

    /// Notes a bump while the kernel held the directory's lock: it had used all listings with objects.
    func noteListingsInvalidated() { areListingsInvalid.store(true, ordering: .sequentiallyConsistent) }

    /// Notes a listing from the beginning.
    /// - Parameter now: monotonic nanoseconds.
    func noteListing(at now: UInt64) { lastListed.store(now, ordering: .relaxed) }

    /// Whether the directory was ever listed from the beginning.
    var wasListed: Bool { lastListed.load(ordering: .relaxed) != 0 }

    /// Nanoseconds since the last listing from the beginning; many if there was none.
    func timeSinceListing(at now: UInt64) -> UInt64 { now &- lastListed.load(ordering: .relaxed) }

    /// Notes whether the directory was watched when it was last listed, and so were all objects of that listing.
    func noteListedAtRest(_ isAtRest: Bool) { isListedAtRest.store(isAtRest, ordering: .relaxed) }

    /// Whether the directory and all objects of its last listing were watched then, and no invalidation has followed.
    var wasListedAtRest: Bool { isListedAtRest.load(ordering: .relaxed) }

    /// Notes that the directory, or what the kernel knows of it, is invalidated.
    func endRest() { isListedAtRest.store(false, ordering: .relaxed) }
}

// MARK: The node's own entry

extension NodeExposure {
    /// Notes that the entry of a directory is answered with a timeout.
    /// - Parameter bumps: so far.
    func noteCacheableEntry(bumps: UInt64) { lastCacheable.store(bumps + 1, ordering: .relaxed) }

    /// Whether the kernel may still have a timeout of the directory's entry, valid or not.
    var mayHaveTimeout: Bool { lastCacheable.load(ordering: .relaxed) != 0 }

    /// Whether the entry of a directory was answered with a timeout since the last bump. A look-up without the parent's lock may then be under
    /// way (R7).
    /// - Parameter bumps: so far.
    func isLookupUnexpected(bumps: UInt64) -> Bool { lastCacheable.load(ordering: .relaxed) > bumps }

    /// Notes that the kernel replaces the timeout of the directory's entry by 0.
    /// - Returns: whether it may have one.
    func takeTimeout() -> Bool { lastCacheable.exchange(0, ordering: .relaxed) != 0 }

    /// Notes that the entry of an object that is no directory is answered uncacheable. The kernel may look up such a name without a lock, and
    /// use a stale reply after the entry was invalidated singly.
    /// - Parameter bumps: so far.
    func noteUncacheableEntry(bumps: UInt64) { lastUncacheable.store(bumps + 1, ordering: .relaxed) }

    /// Whether the entry of an object that is no directory was answered uncacheable since the last bump.
    /// - Parameter bumps: so far.
    func wasUncacheable(bumps: UInt64) -> Bool { lastUncacheable.load(ordering: .relaxed) > bumps }
}

// MARK: Changes through other mounts

extension NodeExposure {
    /// Notes a change of mode, owner, size, links or times through another mount of the tree (R14).
    func noteChangeElsewhere() { isChangedElsewhere.store(true, ordering: .sequentiallyConsistent) }

    /// Whether those that the kernel has may be older than such a change.
    var hasChangedElsewhere: Bool { isChangedElsewhere.load(ordering: .sequentiallyConsistent) }
}
