import ACLFormats
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

/// What one connection's kernel may believe, and how it is taken back (docs/coherence.md).
///
/// Names are taken back all at once, by a bump of the epoch, and only if one was handed out below the directory in
/// question since the last bump. So the present epoch is counted here too, and every hand-out is marked with it.
final class KernelCache: Sendable {
    /// Why no names (and with `severalMounts` no attributes) are handed out for the time being, whatever the option says.
    struct Suspension: OptionSet, Sendable {
        let rawValue: UInt8
        /// A bump would detach a mount that stands below ours.
        static let mountsBelow = Suspension(rawValue: 1)
        /// Another connection is about to show the same objects; what was handed out before it is being taken back.
        static let severalMounts = Suspension(rawValue: 2)
        /// What was handed out under another policy is being taken back.
        static let policyChange = Suspension(rawValue: 4)
    }

    private let state: Lock<KernelCacheState>
    let forgets = ForgetWaits()
    private let mode: MountOptions.CacheMode
    /// A closure in a structure: a generic container that holds one bare wraps it anew at each access.
    private struct Alarm {
        var wake: (@Sendable () -> Void)?
    }

    /// Rung when something falls due earlier than the clock thread knows.
    private let alarm = Lock(Alarm())

    init(_ mode: MountOptions.CacheMode) {
        self.mode = mode
        state = Lock(KernelCacheState(forgets: forgets))
    }

    /// The way to the kernel, as soon as there is one.
    func attach(_ notifier: Notifier) { state.withLock { $0.notifier = notifier } }

    func onEarlierDeadline(_ body: @escaping @Sendable () -> Void) { alarm.withLock { $0.wake = body } }

    func wakeClock() { alarm.withLock { $0.wake }?() }

    /// Changes what falls due, and wakes the clock thread if that is earlier than before.
    private func change<Result>(_ body: (inout KernelCacheState) -> Result) -> Result {
        let (result, hasEarlierDeadline) = state.withLock { state in
            let result = body(&state)
            defer { state.hasEarlierDeadline = false }
            return (result, state.hasEarlierDeadline)
        }
        if hasEarlierDeadline { wakeClock() }
        return result
    }

    /// From now on the option holds. Before, nothing is handed out.
    func begin(hasEpoch: Bool) {
        state.withLock { state in
            state.hasEpoch = hasEpoch
            state.allowed = CacheTimeouts(mode, hasEpoch: hasEpoch)
        }
    }

    /// From now on bumps that can wait do, until what is mounted below has been looked at.
    func watchMountTable(_ news: MountTableChanges) { state.withLock { $0.mountTable = news } }

    /// By the clock's thread, right before it reads the mount table.
    func beginMountTableRead() { state.withLock { $0.mountTable?.beginRead() } }

    func endMountTableRead() { state.withLock { $0.mountTable?.endRead() } }

    /// Whether the clock's thread is to look at the mount table before it goes on.
    var isMountTableReadDue: Bool { state.withLock { $0.mountTable?.isReadDue ?? false } }

    /// Whether an entry may be dropped: it would take along what is mounted below it.
    func confirmMayInvalidate() -> Bool { change { $0.confirmMountTable() && !$0.suspension.contains(.mountsBelow) } }

    /// Whether what is mounted below has been seen, and the names that a bump would have ended are taken back.
    func confirmInvalidated() -> Bool { change { $0.confirmMountTable() && $0.inFlight.isEmpty } }

    /// What is allowed now.
    var timeouts: CacheTimeouts { state.withLock { $0.timeouts } }

    /// Seconds for the attributes that answer a SETATTR: kernels before the epoch apply them even if others were
    /// taken back meanwhile (R12).
    var timeoutOfChangedAttributes: Double { state.withLock { $0.hasEpoch ? $0.timeouts.attributes : 0 } }

    /// For `aclfs status`: what is handed out now, why not more, and how often all names were taken back.
    var members: [JSON.Member] {
        state.withLock { state in
            var reasons: [JSON] = []
            if state.suspension.contains(.mountsBelow) { reasons.append(.string("a mount stands below")) }
            if state.suspension.contains(.severalMounts) { reasons.append(.string("another mount is being added")) }
            if state.suspension.contains(.policyChange) { reasons.append(.string("grants are changing")) }
            if !state.inFlight.isEmpty { reasons.append(.string("names are being taken back")) }
            return [
                .init("entry_timeout", .integer(Int64(state.timeouts.entry))),
                .init("attribute_timeout", .integer(Int64(state.timeouts.attributes))),
                .init("suspended", .array(reasons)), .init("epoch_bumps", .integer(Int64(clamping: state.bumps))),
            ]
        }
    }
}

// MARK: Handing out

extension KernelCache {
    /// A name is answered without a time.
    func noteUncacheableEntry(_ node: Node) {
        state.withLock { state in
            guard state.hasEpoch, state.allowed.entry > 0 else { return }
            node.lastUncacheable.store(state.bumps + 1, ordering: .relaxed)
        }
    }

    /// Whether the kernel looks a directory up although it was given a time since the last bump.
    func isUnexpectedLookup(_ directory: Node) -> Bool {
        let last = directory.lastCacheable.load(ordering: .relaxed)
        return last != 0 && state.withLock { $0.timeouts.entry > 0 && $0.isUnexpectedLookup(last) }
    }

    /// Seconds for which a name below `parent` may be believed. The caller has seen that everybody may search it,
    /// and holds the metadata lock, so that a change of that comes after the mark made here.
    /// - Parameters:
    ///   - ctime: of the directory, as it was before that was seen and before the name was looked for.
    ///   - isListed: by a listing, for which the kernel holds the directory's lock.
    ///   - isTold: whether any later change of the directory has another ctime.
    func expose(
        _ name: UnsafePointer<CChar>, _ child: NamedChild?, below parent: Node, at ctime: Timespec, isListed: Bool = false,
        stampsEveryChange: () -> Bool
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
                let isFirst = parent.lastExposure.load(ordering: .relaxed) < state.epoch
                parent.lastExposure.store(state.epoch, ordering: .relaxed)
                state.directories.note(parent, at: ctime, isFirst: isFirst, stampsEveryChange: stampsEveryChange)
                state.schedulePeriodicBump()
            }
            return state.allowed.entry
        }
    }
}

extension KernelCache {
    /// Whether a listing may show objects: not where more would wait to be used than can be taken back in good time.
    var mayShowObjects: Bool {
        state.withLock { $0.timeouts.entry > 0 && $0.unusedBytes < UnusedListing.capacity }
    }

    /// A listing is about to be made.
    /// - Returns: the epoch.
    func beginListing(of directory: Node) -> UInt64 {
        state.withLock { state in
            directory.unusedListings.add(1, ordering: .sequentiallyConsistent)
            state.unusedListings += 1
            return state.epoch
        }
    }

    func noteUnused(bytes: Int) { state.withLock { $0.unusedBytes += bytes } }

    /// The kernel has used a listing. It stamped the names with the epoch of that moment, which may be a later one than
    /// when the listing was made.
    /// - Parameters:
    ///   - names: what it showed.
    ///   - epoch: in which it was begun.
    ///   - isTakenBack: the names were among those that a suspension took back singly.
    func markListingUsed(of directory: Node, showing names: ExposedEntries, since epoch: UInt64, isInvalidated: Bool) {
        change { state in
            directory.unusedListings.subtract(1, ordering: .sequentiallyConsistent)
            state.unusedListings -= 1
            state.unusedBytes -= names.size
            guard !names.isEmpty else { return }
            // Done with, and with them these.
            if isInvalidated, state.suspension.contains(.mountsBelow), state.inFlight.isEmpty { return }
            if state.hasEpoch, epoch < state.epoch {
                guard !state.exposed.isFull else { return state.bump() }
                state.exposed.append(names)
                state.markUncertainAndScheduleBump()
                // No bump ends their epoch, and they were not among those that are taken back.
                if state.suspension.contains(.mountsBelow) { state.deferInvalidation(names) }
            }
            directory.lastExposure.store(state.epoch, ordering: .relaxed)
        }
    }

    /// A name that may be believed is another one from now on.
    func move(_ child: NodeID?, from source: Node, to name: UnsafePointer<CChar>, below destination: Node) {
        change { state in
            let isListed = source.unusedListings.load(ordering: .sequentiallyConsistent) > 0
            guard state.hasEpoch, state.isAnythingExposed, isListed || source.lastExposure.load(ordering: .relaxed) >= state.epoch else {
                return
            }
            // Behind that it is believed by no name.
            guard !state.exposed.isFull else { return state.bump() }
            state.exposed.append(name, child, in: destination.id)
            if state.suspension.contains(.mountsBelow) {
                // It may have gone before the name under which it was to be taken back.
                var names = ExposedEntries()
                names.append(name, child, in: destination.id)
                state.deferInvalidation(names)
            }
            destination.lastExposure.store(state.epoch, ordering: .relaxed)
            // Both directories have changed.
            state.directories.markUncertain()
        }
    }
}

// MARK: Taking back

extension KernelCache {
    /// Makes the kernel ask again for every name, if it may believe one below this directory. After the change, before
    /// the reply (R1, R2). Takes no lock of the kernel.
    func invalidateEntries(below directory: Node) {
        change { state in
            let isListed = directory.unusedListings.load(ordering: .sequentiallyConsistent) > 0
            guard state.isAnythingExposed, isListed || directory.lastExposure.load(ordering: .relaxed) >= state.epoch else { return }
            state.bump()
            if state.deferred.add(after: SystemTime.monotonic()) { state.hasEarlierDeadline = true }
        }
    }

    /// Before a directory's name is answered without a time below one that not everybody may search. The kernel may
    /// use an old entry for it again, and stores the new stamp before the new time: for that moment the entry would
    /// have its old time and be up to date (docs/coherence.md "Two stores"). After a bump the stamp is out of date
    /// before it is stored. Once, for then the old time is gone.
    func invalidateOldTimeout(of directory: Node) {
        guard directory.lastCacheable.exchange(0, ordering: .relaxed) != 0 else { return }
        change { state in
            // Its names are taken back one by one, and a bump would detach mounts.
            guard !state.suspension.contains(.mountsBelow) else { return }
            state.bump()
            if state.deferred.add(after: SystemTime.monotonic()) { state.hasEarlierDeadline = true }
        }
    }

    /// Makes the kernel ask again for every name.
    func invalidateAllEntries() {
        change { state in
            if state.isAnythingExposed { state.bump() }
        }
    }

    /// After the change, before the reply (R11). Takes no lock of the kernel.
    func invalidateAttributes(of node: NodeID) {
        let notifier = state.withLock { $0.notifier }
        notifier?.invalidateAttributes(of: node)
    }

    /// As `invalidateAttributes`.
    /// - Returns: false if the kernel does not know the object, or not yet.
    func invalidateKnownAttributes(of node: NodeID) -> Bool {
        let notifier = state.withLock { $0.notifier }
        return notifier?.invalidateAttributes(of: node) != Errno.noent.rawValue
    }

    /// Has the kernel drop whatever it walks by next. By the clock, which looks first whether a bump would do harm.
    func requestBump() {
        change { state in
            guard state.hasEpoch, state.allowed.entry > 0 else { return }
            state.requestedBump = SystemTime.monotonic()
            state.hasEarlierDeadline = true
        }
    }

    /// An object that the kernel is just learning of is another one than what it will learn. Where no name is handed
    /// out it asks again by itself.
    func invalidateUnknown() {
        change { state in
            if state.isAnythingExposed { state.bump() }
        }
    }

    /// Nothing is handed out from now on.
    func suspend(_ reason: Suspension) { state.withLock { _ = $0.suspension.insert(reason) } }

    /// The same because something is mounted below.
    /// - Parameter unused: what listings show that the kernel has not used yet.
    /// - Returns: what is to be taken back by name, before `finish`; nil if nothing was handed out already.
    func suspendForMountsBelow(unused: ExposedEntries) -> NamesInFlight.Batch? {
        change { state in
            guard state.suspension.insert(.mountsBelow).inserted else { return nil }
            var names = state.exposed
            names.append(unused)
            state.hasEarlierDeadline = true
            return state.inFlight.begin(names, at: SystemTime.monotonic())
        }
    }

    /// What the kernel may hold of names.
    var exposedEntries: ExposedEntries { state.withLock { $0.exposed } }

    /// What has come to be believed since, or has another name, to be taken back likewise; soon, and not by a thread that
    /// answers requests.
    func takeDeferredEntries() -> NamesInFlight.Batch? {
        state.withLock { state in
            defer { state.deferredBatch = nil }
            return state.deferredBatch
        }
    }

    func isInFlight(_ ticket: NamesInFlight.Ticket) -> Bool { state.withLock { $0.inFlight.contains(ticket) } }

    /// These names are taken back. If no others are left, changes need no bump until something is handed out again.
    func finish(_ ticket: NamesInFlight.Ticket) {
        change { state in
            guard state.inFlight.end(ticket), state.inFlight.isEmpty, !state.suspension.isEmpty else { return }
            state.beginEpoch()
            state.deferred = DeferredBumps()
        }
    }

    /// Before the first name is handed out again there is a bump: names without a time, and those that were taken back
    /// singly, may be asked about without a lock, and nothing else keeps the late answers apart.
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

// MARK: The clock

extension KernelCache {
    /// Monotonic nanoseconds of the next bump that time demands; nil if none does.
    var nextDeadline: UInt64? {
        state.withLock { state in
            let batch: UInt64? = state.deferredBatch == nil ? nil : 0
            return [batch, state.periodicBump, state.requestedBump, state.deferred.next, state.inFlightDeadline].compactMap { $0 }.min()
        }
    }

    /// Something has happened that no ctime tells: the next bump of what is handed out is not left out.
    func markEntriesUncertain() {
        state.withLock { state in
            if !state.exposed.isEmpty { state.directories.markUncertain() }
        }
    }

    /// Bumps if something is due: behind a revocation always, because of time alone only if a directory has changed
    /// (docs/coherence.md "When time alone is no reason").
    /// - Parameter areUnchanged: looks at the directories; called without a lock.
    func tick(_ now: UInt64, areUnchanged: (ExposedDirectories) -> Bool) {
        let unconfirmed = state.withLock { state -> (ExposedDirectories, epoch: UInt64)? in
            if let end = state.inFlightDeadline, end <= now {
                state.inFlight.restart(at: now)
                state.bump()
                return nil
            }
            // Else the clock's thread looks at the mount table and comes again.
            guard state.isBumpDue(now), state.confirmMountTable() else { return nil }
            // Also if nothing is handed out: what would be ended is what nobody knows of.
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
            guard let period = state.allowed.period, state.mayExtend(now, period) else {
                state.bump()
                return nil
            }
            return (state.directories, state.epoch)
        }
        guard let unconfirmed else { return }
        let areUnchanged = areUnchanged(unconfirmed.0)
        state.withLock { state in
            guard state.epoch == unconfirmed.epoch, state.confirmBump() else { return }
            if areUnchanged, let period = state.allowed.period, state.mayExtend(now, period) {
                state.directories.noteUnchanged()
                state.periodicBump = now + period * 1_000_000
            } else if state.confirmMountTable() {
                state.bump()
            }
        }
    }
}
