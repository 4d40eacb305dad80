import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization
import WireFormats

/// What the kernel of one mount may answer from its caches (docs/internals/coherence.md). Timeouts are chosen and
/// notifications are sent only here and in the types it owns.
///
/// In: "this is exposed", "these facts changed". Out: entries and attributes with their timeouts; caches that are invalidated before the
/// reply.
final class KernelView: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let share: Share
    let mounts: TreeMounts
    let files: OpenFiles
    let cache: KernelCache
    let mountsBelow = MountsBelow()
    let notifications = BlockingNotifications()
    let forgetting = ForgettingQueue()
    let inheritedLookups = InheritedLookups()
    private let clock = Lock<CacheClock?>(nil)
    private struct Agreement {
        var negotiated: Negotiated
        var watchObstacle: String?
    }
    private let agreed = Lock<Agreement?>(nil)
    /// Random, so that the kernel refuses file handles of an earlier mount (I8).
    let generation: UInt64

    init(
        _ loader: ObjectLoader, _ judge: Judge, _ mounts: TreeMounts, _ files: OpenFiles, _ mode: MountOptions.CacheMode,
        generation: UInt64
    ) {
        (self.loader, self.judge, self.mounts, self.files) = (loader, judge, mounts, files)
        share = mounts.share
        self.generation = generation
        cache = KernelCache(mode)
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    /// - Parameters:
    ///   - notifier: to this mount's kernel.
    ///   - device: of the mount; nil if unknown.
    ///   - report: writes a line for the administrator.
    func start(_ notifier: Notifier, device: UInt64?, report: @escaping @Sendable (String) -> Void) throws(Errno) {
        cache.attach(notifier)
        try notifications.start(notifier, loader.nodes, cache)
        do throws(Errno) {
            let started = try CacheClock(self, device: device, report: report)
            clock.withLock { $0 = started }
        } catch {
            notifications.stop()
            throw error
        }
    }

    /// Applies the cache option. The kernel has said in INIT what it supports.
    /// - Parameter watchObstacle: why changes of the backing directory are not watched for; nil if they are.
    func begin(_ negotiated: Negotiated, watchObstacle: String?) {
        agreed.withLock { $0 = Agreement(negotiated: negotiated, watchObstacle: watchObstacle) }
        cache.begin(hasEpoch: negotiated.epoch, watches: watchObstacle == nil)
        loader.keepDirectories(watchObstacle == nil)
    }

    /// nil until the kernel has introduced itself.
    var negotiated: Negotiated? { agreed.withLock { $0?.negotiated } }

    var watchObstacle: String? { agreed.withLock { $0.map { $0.watchObstacle } ?? "the kernel has not introduced itself" } }

    /// Whether the kernel leaves the clearing of set-id bits to the daemon (FUSE_HANDLE_KILLPRIV_V2).
    var leavesSetIDToDaemon: Bool { agreed.withLock { $0?.negotiated.killPriv2 ?? true } }

    /// Whether it is known that nothing is mounted on an object of this mount. If a mount table has changed, the answer is no until the
    /// clock's thread has read it.
    var areNoMountsBelow: Bool { cache.confirmMayInvalidate() && cache.isMountTableKnown && !mountsBelow.exist }

    /// Ends the threads. The mount is gone.
    func stop() {
        clock.withLock { $0.take() }?.stop()
        dropRemovedObjects(.max)
        notifications.stop()
    }
}

// MARK: Forgotten objects

extension KernelView {
    /// Leaves an object that the kernel has forgotten to `dropRemovedObjects`.
    /// - Returns: false if there is no room.
    func deferRemovalCheck(of object: BackingObject) -> Bool {
        switch loader.nodes.forgotten.add(object) {
        case .first: cache.wakeClock()
        case .further: break
        case .noRoom: return false
        }
        return true
    }

    /// When `dropRemovedObjects` has something to do, in monotonic nanoseconds.
    var nextRemovalCheck: UInt64? { loader.nodes.forgotten.nextDue }

    /// Lets the file system free what was removed on the backing directory and is still forgotten by the kernel. Called by the clock.
    /// - Parameter now: monotonic nanoseconds.
    func dropRemovedObjects(_ now: UInt64) {
        for object in loader.nodes.forgotten.takeDue(now) where loader.nodes.node(of: object) == nil { dropIfRemoved(object) }
    }

    /// Closes the descriptor and the backing ids of an object that was removed: they would keep its blocks.
    func dropIfRemoved(_ object: BackingObject) {
        // Several mounts may have one tree: the last one that knows the object drops it.
        var isKnown = false
        mounts.forEachOther(than: self) { if $0.loader.nodes.node(of: object) != nil { isKnown = true } }
        if isKnown { return }
        if object.hasLostNames.load(ordering: .relaxed) {
            loader.tree.forgetDescriptor(of: object)
            return mounts.dropBackingIDs(of: object)
        }
        if !loader.tree.forgetDescriptorIfRemoved(object) { mounts.dropBackingIDs(of: object) }
    }
}

// MARK: Invalidating

extension KernelView {
    /// Invalidates what not every caller may learn any more (R1, R2). Call after a change of an object's facts and before the reply.
    /// - Parameters:
    ///   - object: with the facts before the change.
    ///   - after: the facts after the change; nil if unknown.
    ///   - repliesWithAttributes: the reply itself brings the kernel the new attributes.
    func invalidate(_ object: ObjectState, after: ObjectFacts?, repliesWithAttributes: Bool = false) {
        // A reply with attributes may bring other sizes and times.
        let onlyEntries =
            !repliesWithAttributes
            && after.map {
                judge.posix.shownMode($0) == judge.posix.shownMode(object.facts) && $0.owner == object.facts.owner
                    && $0.group == object.facts.group
            } ?? false
        defer { invalidateElsewhere(object.object, onlyEntries: onlyEntries) }
        guard let node = object.node else { return }
        if isNoLongerUniversal(.search, object, after), node.isDirectory {
            cache.invalidateEntries(
                below: node, charging: .init(object.object, owner: object.facts.owner), isLocked: !share.hasSeveralMounts)
        }
        if repliesWithAttributes { return }
        cache.invalidateAttributes(of: node.id)
        // The kernel runs programs by mode and owner, so it must take them from the next answer.
        if onlyEntries { return }
        node.exposure.attributeTimeout.invalidate(at: SystemTime.monotonic())
    }

    /// Call before the mode of an object is changed, by whatever request. The kernel will look up a directory's name without a lock, after any
    /// change of the mode (R10).
    func prepareModeChange(of object: ObjectState) {
        if object.facts.kind == .directory { object.node?.exposure.revalidation.mark() }
    }

    /// Whether the rights were universal before a change and are not after it.
    private func isNoLongerUniversal(_ rights: Rights, _ before: ObjectState, _ after: ObjectFacts?) -> Bool {
        guard judge.everyCallerHolds(rights, on: before) else { return false }
        guard let after else { return true }
        return !judge.everyCallerHolds(rights, on: after, before.location)
    }

    /// Invalidates what a rename makes untrue (R2). The kernel moves the entry to the new name, with the timeout that it has.
    func invalidateMovedName(_ object: ObjectState, from source: ObjectState, to name: UnsafePointer<CChar>, in destination: ObjectState) {
        invalidateNameElsewhere(in: source, object.object)
        invalidateNameElsewhere(in: destination, nil)
        guard let old = source.node, let new = destination.node else { return }
        // A directory that moves to another zone takes all below it there.
        if object.location.zone != destination.location.below(name).zone, object.facts.kind == .directory {
            invalidateView()
        }
        if judge.everyCallerHolds(.search, on: destination) {
            let areWatched = tells(source, of: .event) && tells(destination, of: .event)
            cache.move(
                loader.nodes.node(of: object.object)?.id, from: old, to: name, below: new,
                watchedSince: areWatched ? destination.status.ctime : nil)
        } else {
            cache.invalidateEntries(
                below: old, charging: .init(object.object, owner: object.facts.owner), isLocked: !share.hasSeveralMounts)
        }
    }

    /// Exposes no entries from now on, and invalidates the exposed ones one by one. Until that is done, a revocation still bumps the
    /// epoch, which may detach a mount that was made a moment ago.
    func suspendForMountsBelow() {
        // The lock excludes a request that has read the old timeouts and has not noted its entry yet. Entries of unused listings
        // count too: the kernel stamps them with the epoch in which it uses the listing.
        let batch = share.lock.withWriteLock { cache.suspendForMountsBelow(unused: files.takeUnusedNames()) }
        batch.map(invalidateOneByOne)
    }

    /// Invalidates entries that were exposed, or renamed, after the first batch. Call on the clock's thread.
    func invalidateDeferredEntries() { cache.takeDeferredEntries().map(invalidateOneByOne) }

    private func invalidateOneByOne(_ batch: NamesInFlight.Batch) {
        let invalidation = BlockingNotifications.EntryInvalidation(
            isInFlight: { [cache] in cache.isInFlight(batch.ticket) },
            removesEntry: { [self] name in
                guard let child = name.child, let node = loader.nodes.find(child) else { return false }
                // The kernel reuses a directory's entry under any name, so the mark guards it (R7).
                guard !node.isDirectory else {
                    node.exposure.revalidation.mark()
                    return false
                }
                // A stale answer then meets an entry that no walk finds. A mount on a file would be lost with its entry.
                guard let parent = loader.nodes.find(name.parent) else { return false }
                return !name.bytes.withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { mountsBelow.areReached(by: $0, in: parent.object) } ?? true
                }
            },
            whenDone: { [cache] in cache.finish(batch.ticket) })
        notifications.invalidateEntries(batch.names, invalidation)
    }
}
