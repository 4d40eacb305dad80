import ACLFormats
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

/// What the kernel of one connection may answer by itself, and how that is invalidated (docs/internals/coherence.md). It counts epochs as the
/// kernel does and marks each exposure with one: a bump is sent only if an entry below the directory is exposed since the last
/// bump.
final class KernelCache: Sendable {
    /// Why no entries (and with `severalMounts` no attributes) are cacheable at present, whatever the option says.
    struct Suspension: OptionSet, Sendable {
        let rawValue: UInt8
        /// Something is mounted below this mount, and a bump would detach it.
        static let mountsBelow = Suspension(rawValue: 1)
        /// Another connection is about to expose the same objects. Earlier exposures are being invalidated.
        static let severalMounts = Suspension(rawValue: 2)
        /// Exposures under another policy are being invalidated.
        static let policyChange = Suspension(rawValue: 4)
    }

    private let state: Lock<CacheState>
    let forgets = ForgetWaits()
    let unknown = UnknownNodes()
    private let mode: MountOptions.CacheMode
    /// A generic container wraps a bare closure anew at each access, a structure not.
    private struct Alarm {
        var wake: (@Sendable () -> Void)?
    }

    /// When an entry was last answered uncacheable, in monotonic nanoseconds.
    private let lastUncacheable = Atomic<UInt64>(0)

    /// Called when a deadline is earlier than the clock thread knows.
    private let alarm = Lock(Alarm())

    init(_ mode: MountOptions.CacheMode) {
        self.mode = mode
        state = Lock(CacheState(forgets: forgets))
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    func attach(_ notifier: Notifier) { state.withLock { $0.notifier = notifier } }

    func onEarlierDeadline(_ body: @escaping @Sendable () -> Void) { alarm.withLock { $0.wake = body } }

    func wakeClock() { alarm.withLock { $0.wake }?() }

    /// Changes the state, and wakes the clock thread if a deadline became earlier.
    private func change<Result>(_ body: (inout CacheState) -> Result) -> Result {
        let (result, hasEarlierDeadline) = state.withLock { state in
            let result = body(&state)
            defer { state.hasEarlierDeadline = false }
            return (result, state.hasEarlierDeadline)
        }
        if hasEarlierDeadline { wakeClock() }
        return result
    }

    /// Another process has served the connection. Call before the first request, when features are known: ends what it exposed, and what the kernel
    /// makes of its last replies.
    func endInheritedExposures() {
        change { state in
            state.bump()
            _ = state.deferred.add(after: SystemTime.monotonic())
            state.hasEarlierDeadline = true
        }
    }

    /// Begins to expose entries and attributes, by the option.
    func begin(hasEpoch: Bool, watches: Bool = false) {
        state.withLock { state in
            state.hasEpoch = hasEpoch
            state.allowed = CacheTimeouts(mode, hasEpoch: hasEpoch, watches: watches)
        }
    }

    /// Defers bumps without a revocation until the clock thread has read the mount table.
    func watchMountTable(_ changes: MountTableChanges) { state.withLock { $0.mountTable = changes } }

    /// Called by the clock thread right before it reads the mount table.
    func beginMountTableRead() { state.withLock { $0.mountTable?.beginRead() } }

    func endMountTableRead() { state.withLock { $0.mountTable?.endRead() } }

    /// Whether the clock thread must read the mount table first.
    var isMountTableReadDue: Bool { state.withLock { $0.mountTable?.isReadDue ?? false } }

    /// Whether the clock thread watches the mount table, and has read it since its last change. It does not on a mount that is not in the table.
    var isMountTableKnown: Bool { state.withLock { $0.mountTable.map { !$0.isReadDue } ?? false } }

    /// Whether entries may be invalidated singly: not if something may be mounted below, which that would detach. If the mount table
    /// has changed, wakes the clock thread to read it.
    func confirmMayInvalidate() -> Bool { change { $0.confirmMountTable() && !$0.suspension.contains(.mountsBelow) } }

    /// Whether a bump would detach a mount now: entries are exposed, and nothing is known to be mounted below.
    var hasExposedEntries: Bool { state.withLock { !$0.exposed.isEmpty && !$0.suspension.contains(.mountsBelow) } }

    /// Whether the deadline of a bump has passed.
    func isBumpDue(_ now: UInt64) -> Bool { state.withLock { $0.isBumpDue(now) } }

    /// Whether the mount table is read, and no invalidation is in flight. If the table has changed, wakes the clock thread to read
    /// it.
    func confirmInvalidated() -> Bool { change { $0.confirmMountTable() && $0.inFlight.isEmpty } }

    /// The timeouts that count at present.
    var timeouts: CacheTimeouts { state.withLock { $0.timeouts } }

    /// Seconds for the attributes in replies to SETATTR. Kernels without the epoch apply them even after an invalidation (R12).
    var timeoutOfChangedAttributes: Double { state.withLock { $0.hasEpoch ? $0.timeouts.attributes : 0 } }

    /// For `aclfs status`: the timeouts, why they are shorter than the option says, and the number of bumps.
    var status: [JSON.Member] {
        state.withLock { state in
            var reasons: [String] = []
            if state.suspension.contains(.mountsBelow) { reasons.append("a mount stands below") }
            if state.suspension.contains(.severalMounts) { reasons.append("another mount is being added") }
            if state.suspension.contains(.policyChange) { reasons.append("grants are changing") }
            if !state.inFlight.isEmpty { reasons.append("entries are being invalidated") }
            return [
                .init(.entryTimeout, Int64(state.timeouts.entry)), .init(.attributeTimeout, Int64(state.timeouts.attributes)),
                .init(.suspended, .texts(reasons)), .init(.epochBumps, state.bumps),
            ]
        }
    }
}

// MARK: Exposure

extension KernelCache {
    /// Whether no entry was answered uncacheable for so many nanoseconds. While all are, no program then looks up the place of a mount.
    func isQuiet(for duration: UInt64, _ now: UInt64) -> Bool { lastUncacheable.load(ordering: .relaxed) + duration <= now }

    func noteUncacheableAnswer() { lastUncacheable.store(SystemTime.monotonic(), ordering: .relaxed) }

    /// Notes that an entry was answered uncacheable.
    func noteUncacheableEntry(_ node: Node) {
        state.withLock { state in
            guard state.hasEpoch, state.allowed.entry > 0 else { return }
            node.exposure.noteUncacheableEntry(bumps: state.bumps)
        }
    }

    /// Whether the kernel looks up a directory although its entry was answered with a timeout since the last bump.
    func isUnexpectedLookup(_ directory: Node) -> Bool {
        directory.exposure.mayHaveTimeout
            && state.withLock { $0.timeouts.entry > 0 && directory.exposure.isLookupUnexpected(bumps: $0.bumps) }
    }

    /// Whether a FORGET of a directory that is looked up may be on its way (docs/internals/coherence.md "A delayed FORGET"): the directory is
    /// marked (R7) and was invalidated a moment ago, or it is looked up unexpectedly. The first uses one of the waits.
    func isForgetLikely(of directory: Node) -> Bool {
        guard directory.exposure.revalidation.isPossible else { return isUnexpectedLookup(directory) }
        return directory.exposure.revalidation.takeForgetWait()
    }

    /// Whether entries below this directory, and entries of this object, may be exposed: not if the revocations of their owners cost
    /// others too much at present (`BumpBudget`).
    func isAffordable(_ directory: BumpBudget.Account, _ child: BumpBudget.Account?) -> Bool {
        state.withLock { state in
            if state.budget.isUnused { return true }
            let now = SystemTime.monotonic()
            state.budget.forgetPaid(now)
            return !state.budget.isOver(directory, now) && !(child.map { state.budget.isOver($0, now) } ?? false)
        }
    }

    /// Exposes an entry. The caller knows that `search` on the parent is universal, and holds the metadata lock. So a change of
    /// that comes after the mark that is set here.
    /// - Parameters:
    ///   - ctime: of the parent, from before its facts were read and the name was looked up.
    ///   - isListed: by a listing, for which the kernel holds the directory's lock.
    ///   - tells: whether the parent tells of every later change of its names in this way.
    /// - Returns: the timeout in seconds; 0: uncacheable.
    func expose(
        _ name: UnsafePointer<CChar>, _ child: NamedChild?, below parent: Node, at ctime: Timespec, isListed: Bool = false,
        tells: (NameChange) -> Bool
    ) -> Double {
        change { state in
            guard state.suspension.isEmpty, state.allowed.entry > 0 else { return 0.0 }
            if state.exposed.isFull, state.hasEpoch {
                guard state.confirmMountTable() else { return 0 }
                state.bump()
            }
            if state.hasEpoch {
                if let child, !state.admitToCache(child.node, isListed: isListed) { return 0 }
                state.exposed.append(name, child?.node.id, in: parent.id)
                if child?.isOnOtherMount == true { state.directories.markUncertain() }
                let isFirst = parent.exposure.noteExposure(in: state.epoch)
                state.directories.note(parent, at: ctime, isFirst: isFirst, tells: tells)
                state.schedulePeriodicBump()
            }
            return state.allowed.entry
        }
    }
}

extension KernelCache {
    /// Whether a listing may have objects: not if more would be unused than can be invalidated singly in short time.
    var mayShowObjects: Bool {
        state.withLock { $0.timeouts.entry > 0 && $0.unusedBytes < UnusedListing.capacity }
    }

    /// Notes that a listing is about to be made.
    /// - Returns: the epoch.
    func beginListing(of directory: Node) -> UInt64 {
        state.withLock { state in
            directory.exposure.beginListing()
            state.unusedListings += 1
            return state.epoch
        }
    }

    func noteUnused(bytes: Int) { state.withLock { $0.unusedBytes += bytes } }

    /// Notes that the kernel has used a listing. The kernel stamps the entries with the epoch of that moment, which may be later
    /// than that of the listing.
    /// - Parameters:
    ///   - names: the entries in the listing.
    ///   - epoch: in which the listing was begun.
    ///   - isInvalidated: a suspension has invalidated these entries singly.
    ///   - hasMore: it may have entries that nobody knows any more.
    func markListingUsed(
        of directory: Node, showing names: ExposedEntries, since epoch: UInt64, isInvalidated: Bool, hasMore: Bool = false
    ) {
        change { state in
            directory.exposure.markListingUsed()
            state.unusedListings -= 1
            state.unusedBytes -= names.size
            guard !names.isEmpty || hasMore else { return }
            // All invalidations are complete, and these entries were among them.
            if isInvalidated, state.suspension.contains(.mountsBelow), state.inFlight.isEmpty { return }
            if state.hasEpoch, epoch < state.epoch {
                guard !state.exposed.isFull else { return state.bump() }
                state.exposed.append(names)
                state.markUncertainAndScheduleBump()
                // No bump ends their epoch, and they were in no batch that is being invalidated.
                if state.suspension.contains(.mountsBelow) { state.deferInvalidation(names) }
            }
            directory.exposure.noteExposure(in: state.epoch)
        }
    }

    /// Notes that an exposed entry has moved to another name.
    /// - Parameter watchedSince: if both directories are watched, the ctime of the destination before the change. Otherwise others may have
    ///   changed them in the same moment.
    func move(_ child: NodeID?, from source: Node, to name: UnsafePointer<CChar>, below destination: Node, watchedSince: Timespec?) {
        change { state in
            guard state.hasEpoch, state.isAnythingExposed, source.exposure.mayHaveEntries(of: state.epoch) else { return }
            // The bump invalidates it under every name.
            guard !state.exposed.isFull else { return state.bump() }
            state.exposed.append(name, child, in: destination.id)
            if state.suspension.contains(.mountsBelow) {
                // The entry may have moved before the invalidation of its old name.
                var names = ExposedEntries()
                names.append(name, child, in: destination.id)
                state.deferInvalidation(names)
            }
            let isFirst = destination.exposure.noteExposure(in: state.epoch)
            if let watchedSince {
                state.directories.note(destination, at: watchedSince, isFirst: isFirst) { $0 == .event }
            } else {
                state.directories.markUncertain()
            }
        }
    }
}

// MARK: Invalidation

extension KernelCache {
    /// Bumps the epoch if an entry below this directory is exposed. Call it after the change and before the reply (R1, R2). It
    /// takes no lock of the kernel.
    /// - Parameters:
    ///   - account: who pays.
    ///   - isLocked: the kernel holds the directory's lock. It has then used all listings that it got, and one bump is enough for these.
    func invalidateEntries(below directory: Node, charging account: BumpBudget.Account? = nil, isLocked: Bool = false) {
        change { state in
            guard state.isAnythingExposed, directory.exposure.needsBump(in: state.epoch) else { return }
            state.bump()
            if isLocked { directory.exposure.noteListingsInvalidated() }
            if let account { state.budget.charge(account, SystemTime.monotonic()) }
            if state.deferred.add(after: SystemTime.monotonic()) { state.hasEarlierDeadline = true }
        }
    }

    /// Call it before a directory's entry is answered uncacheable below a directory without universal `search`. The bump makes the
    /// stamp of a reused entry stale before the kernel stores it (docs/internals/coherence.md "Two stores"). Once is enough, because the old
    /// timeout is then gone.
    /// - Parameter account: who pays. Without a budget nothing is done: the window stays open, for directories of this account.
    func invalidateOldTimeout(of directory: Node, charging account: BumpBudget.Account) {
        guard directory.exposure.takeTimeout() else { return }
        change { state in
            // Entries are invalidated singly at present, and a bump would detach mounts.
            guard !state.suspension.contains(.mountsBelow) else { return }
            let now = SystemTime.monotonic()
            guard state.budget.isUnused || !state.budget.isOver(account, now) else { return }
            state.bump()
            state.budget.charge(account, now)
            if state.deferred.add(after: SystemTime.monotonic()) { state.hasEarlierDeadline = true }
        }
    }

    /// Bumps the epoch if any entry is exposed.
    func invalidateAllEntries() {
        change { state in
            if state.isAnythingExposed { state.bump() }
        }
    }

    /// Invalidates the attributes of a node. Call it after the change and before the reply (R11). It takes no lock of the kernel.
    func invalidateAttributes(of node: NodeID) {
        let notifier = state.withLock { $0.notifier }
        notifier?.invalidateAttributes(of: node)
    }

    /// As `invalidateAttributes`.
    /// - Returns: false if the kernel does not know the node yet.
    func invalidateKnownAttributes(of node: NodeID) -> Bool {
        let notifier = state.withLock { $0.notifier }
        return notifier?.invalidateAttributes(of: node) != Errno.noent.rawValue
    }

    /// As `requestBump`, but once in a second at most: nothing depends on it but the speed of a walk.
    func requestRecoveryBump() {
        let isDue = state.withLock { state in
            let now = SystemTime.monotonic()
            guard now >= state.lastRecoveryBump + 1_000_000_000 else { return false }
            state.lastRecoveryBump = now
            return true
        }
        if isDue { requestBump() }
    }

    /// Fewer look-ups are worth no bump.
    static let fewestMarkedWalks = 1000
    /// The size of exposed entries of which one is looked up again behind a bump: four of usual length.
    private static let bytesForLookup = 128

    /// Notes a look-up that only the mark of a directory has caused (R7).
    /// - Returns: true if there were about as many, since it was last true, as would follow a bump now. Then the kernel should forget the directories.
    func noteMarkedWalk() -> Bool {
        state.withLock { state in
            state.markedWalks += 1
            guard state.markedWalks >= max(Self.fewestMarkedWalks, state.exposed.size / Self.bytesForLookup) else { return false }
            let now = SystemTime.monotonic()
            guard now >= state.lastRecoveryBump + 100_000_000 else { return false }
            (state.markedWalks, state.lastRecoveryBump) = (0, now)
            return true
        }
    }

    /// Asks the clock thread for a bump. It bumps unless that would detach a mount.
    func requestBump() {
        change { state in
            guard state.hasEpoch, state.allowed.entry > 0 else { return }
            state.requestedBump = SystemTime.monotonic()
            state.hasEarlierDeadline = true
        }
    }

    /// Makes entries uncacheable.
    func suspend(_ reason: Suspension) { state.withLock { _ = $0.suspension.insert(reason) } }

    /// Makes entries uncacheable because something is mounted below.
    /// - Parameter unused: the entries of listings that the kernel has not used yet.
    /// - Returns: the entries to invalidate singly before `finish`; nil if the suspension was in force already.
    func suspendForMountsBelow(unused: ExposedEntries) -> NamesInFlight.Batch? {
        change { state in
            guard state.suspension.insert(.mountsBelow).inserted else { return nil }
            var names = state.exposed
            names.append(unused)
            state.hasEarlierDeadline = true
            return state.inFlight.begin(names, at: SystemTime.monotonic())
        }
    }

    /// All exposed entries.
    var exposedEntries: ExposedEntries { state.withLock { $0.exposed } }

    /// Takes entries that were exposed or moved meanwhile, to be invalidated singly, by a thread that answers no requests.
    func takeDeferredEntries() -> NamesInFlight.Batch? {
        state.withLock { state in
            defer { state.deferredBatch = nil }
            return state.deferredBatch
        }
    }

    /// Whether entries are uncacheable for this reason.
    func isSuspended(_ reason: Suspension) -> Bool { state.withLock { $0.suspension.contains(reason) } }

    /// The number of bumps so far.
    var bumps: UInt64 { state.withLock { $0.bumps } }

    func isInFlight(_ ticket: NamesInFlight.Ticket) -> Bool { state.withLock { $0.inFlight.contains(ticket) } }

    /// Notes that a batch is invalidated. After the last one, changes need no bump until an entry is exposed again.
    func finish(_ ticket: NamesInFlight.Ticket) {
        change { state in
            guard state.inFlight.end(ticket), state.inFlight.isEmpty, !state.suspension.isEmpty else { return }
            state.beginEpoch()
            state.deferred = DeferredBumps()
        }
    }

    /// Ends a suspension. A bump precedes the next exposure: the kernel may look up uncacheable or singly invalidated entries
    /// without a lock, and only a bump makes their stale replies ineffective.
    func resume(_ reason: Suspension) {
        change { state in
            if reason == .mountsBelow, state.suspension.contains(reason), !state.confirmMountTable() { return }
            guard state.suspension.remove(reason) != nil, state.suspension.isEmpty else { return }
            state.inFlight.removeAll()
            state.deferredBatch = nil
            if state.allowed.entry > 0 { state.bump() }
        }
    }
}

// MARK: Deadlines

extension KernelCache {
    /// The earliest deadline of a bump, in monotonic nanoseconds; nil: none.
    var nextDeadline: UInt64? {
        state.withLock { state in
            let batch: UInt64? = state.deferredBatch == nil ? nil : 0
            return [batch, state.periodicBump, state.requestedBump, state.deferred.next, state.inFlightDeadline].compactMap { $0 }.min()
        }
    }

    /// Notes a change that no ctime shows. The next periodic bump is then not left out.
    func markEntriesUncertain() {
        state.withLock { state in
            if !state.exposed.isEmpty { state.directories.markUncertain() }
        }
    }

    /// Bumps if a deadline has passed. A deferred bump after a revocation is never left out; a periodic bump is, if no directory
    /// has changed (docs/internals/coherence.md "When time alone is no reason").
    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - isKnown: whether the kernel knows a node; called without a lock.
    ///   - check: reads the ctimes of the directories; called without a lock.
    func tick(_ now: UInt64, isKnown: (NodeID) -> Bool = { _ in true }, _ check: (ExposedDirectories) -> DirectoryCheck) {
        let unconfirmed = state.withLock { state -> (ExposedDirectories, repeated: ExposedEntries?, epoch: UInt64)? in
            if let end = state.inFlightDeadline, end <= now {
                state.inFlight.restart(at: now)
                state.bump()
                return nil
            }
            // Otherwise the clock thread first reads the mount table and calls again.
            guard state.isBumpDue(now), state.confirmMountTable() else { return nil }
            // Also without exposed entries: a deferred bump ends entries that the daemon does not know of.
            if state.deferred.take(now), !state.suspension.contains(.mountsBelow) {
                state.bump()
                return nil
            }
            if let due = state.requestedBump, due <= now {
                state.requestedBump = nil
                if state.suspension.isEmpty {
                    state.bump()
                    return nil
                }
            }
            guard state.periodicBump.map({ $0 <= now }) ?? false, state.confirmBump() else { return nil }
            guard let period = state.allowed.period, state.mayExtendCompacted(now, period) else {
                state.bump()
                return nil
            }
            return (state.directories, state.exposed.isShort ? nil : state.exposed, state.epoch)
        }
        guard let unconfirmed else { return }
        let compacted = unconfirmed.repeated?.compacted(isKnown)
        let result = check(unconfirmed.0)
        state.withLock { state in
            guard state.epoch == unconfirmed.epoch, state.confirmBump() else { return }
            if let repeated = unconfirmed.repeated, let compacted { state.exposed.replaceOldest(repeated.size, by: compacted) }
            if case .unchanged(let read) = result, let period = state.allowed.period, state.mayExtend(now, period) {
                state.directories.noteUnchanged(read: read)
                state.periodicBump = now + period * 1_000_000
            } else if state.confirmMountTable() {
                state.bump()
            }
        }
    }
}

// MARK: State

/// The state of a `KernelCache` under its lock: the present epoch, what is exposed in it, and the deadlines of bumps.
private struct CacheState {
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
    /// Since `noteMarkedWalk` was last true.
    var markedWalks = 0
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
            if !isListed, node.exposure.isLookupUnexpected(bumps: bumps) {
                node.exposure.revalidation.mark()
                return false
            }
            node.exposure.noteCacheableEntry(bumps: bumps)
            return true
        }
        guard node.exposure.wasUncacheable(bumps: bumps) else { return true }
        let now = SystemTime.monotonic()
        guard now >= lastRecoveryBump + 1_000_000_000, confirmMountTable() else { return false }
        lastRecoveryBump = now
        bump()
        return true
    }

    mutating func schedulePeriodicBump() {
        guard periodicBump == nil, let period = allowed.period else { return }
        let now = SystemTime.monotonic()
        periodicBump = now + period * 1_000_000
        directories.begin(now)
        hasEarlierDeadline = true
    }
}

/// Bumps 10 ms, 100 ms, 1 s, 10 s and 100 s after a revocation, one of each at a time. The kernel does not tell when it uses a
/// reply. These bumps end entries from stale replies, and from races that are unknown.
private struct DeferredBumps: Sendable {
    private static let delays: [UInt64] = [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000]
    private var deadlines = [UInt64?](repeating: nil, count: delays.count)

    var next: UInt64? { deadlines.lazy.compactMap { $0 }.min() }

    /// Adds bumps after a revocation.
    /// - Returns: whether the next deadline is earlier than before.
    mutating func add(after now: UInt64) -> Bool {
        let before = next
        for index in deadlines.indices where deadlines[index] == nil { deadlines[index] = now + Self.delays[index] }
        return next != before
    }

    /// Removes deadlines that have passed.
    /// - Returns: whether there was one.
    mutating func take(_ now: UInt64) -> Bool {
        var wasDue = false
        for index in deadlines.indices {
            if let time = deadlines[index], time <= now { (deadlines[index], wasDue) = (nil, true) }
        }
        return wasDue
    }
}

/// Batches of entries that are invalidated singly because a bump would detach a mount (docs/internals/coherence.md "The price of a bump"). A
/// batch is in flight until the kernel has taken the lock of each of its directories.
struct NamesInFlight: Sendable {
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Batch: Sendable {
        var names: ExposedEntries
        let ticket: Ticket
    }

    /// When each batch was begun, in monotonic nanoseconds.
    private var begun: [Ticket: UInt64] = [:]
    private var count: UInt64 = 0

    var isEmpty: Bool { begun.isEmpty }
    var oldest: UInt64? { begun.values.min() }

    func contains(_ ticket: Ticket) -> Bool { begun[ticket] != nil }

    mutating func begin(_ names: ExposedEntries, at now: UInt64) -> Batch {
        count += 1
        let ticket = Ticket(number: count)
        begun[ticket] = now
        return Batch(names: names, ticket: ticket)
    }

    /// - Returns: false if the batch was no longer in flight.
    mutating func end(_ ticket: Ticket) -> Bool { begun.removeValue(forKey: ticket) != nil }

    mutating func removeAll() { begun.removeAll() }

    /// Notes a bump, which ends the entries in flight. Entries of listings that are still unused get a new deadline.
    mutating func restart(at now: UInt64) {
        for ticket in begun.keys { begun[ticket] = now }
    }
}
