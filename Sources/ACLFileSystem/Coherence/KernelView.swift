import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions

/// What the kernel of one mount may believe. It alone chooses timeouts and sends notifications.
///
/// In: "this is shown", "these facts changed". Out: entries and attributes with their timeouts, and the kernel's caches invalidated
/// before the reply (docs/coherence.md).
final class KernelView: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let share: Share
    let mounts: TreeMounts
    let handles: HandleTable
    let cache: KernelCache
    let mountsBelow = MountsBelow()
    let notifications = BlockingNotifications()
    let forgetting = ForgettingQueue()
    private let clock = Lock<CacheClock?>(nil)
    private let agreed = Lock<Negotiated?>(nil)
    /// Random, so that a file handle of an earlier mount does not open another object (I8).
    let generation: UInt64

    init(
        _ loader: ObjectLoader, _ judge: Judge, _ mounts: TreeMounts, _ handles: HandleTable, _ mode: MountOptions.CacheMode,
        generation: UInt64
    ) {
        (self.loader, self.judge, self.mounts, self.handles) = (loader, judge, mounts, handles)
        share = mounts.share
        self.generation = generation
        cache = KernelCache(mode)
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    /// - Parameter device: of the mount, from the mount table; nil if it was not found there.
    func start(_ notifier: Notifier, device: UInt64?) throws(Errno) {
        cache.connect(notifier)
        try notifications.start(notifier, loader.nodes, cache)
        do throws(Errno) {
            let started = try CacheClock(self, device: device)
            clock.withLock { $0 = started }
        } catch {
            notifications.stop()
            throw error
        }
    }

    /// The kernel has introduced itself. From now on the cache option holds.
    func begin(_ negotiated: Negotiated) {
        agreed.withLock { $0 = negotiated }
        cache.begin(hasEpoch: negotiated.epoch)
    }

    /// Whether clearing set-id bits is ours alone.
    var leavesSetIDToDaemon: Bool { agreed.withLock { $0?.killPriv2 ?? true } }

    /// The mount is gone.
    func stop() {
        clock.withLock { $0.take() }?.stop()
        notifications.stop()
    }
}

// MARK: Invalidating

extension KernelView {
    /// After a change of an object's facts and before the reply: takes back what is no longer everybody's (R1, R2).
    /// - Parameters:
    ///   - after: nil if it cannot be told any more.
    ///   - repliesWithAttributes: the kernel learns the new attributes from the reply itself.
    func invalidate(_ object: ObjectState, after: ObjectFacts?, repliesWithAttributes: Bool = false) {
        defer { invalidateElsewhere(object.object) }
        guard let node = object.node else { return }
        if isNoLongerUniversal(.search, object, after), node.isDirectory { cache.invalidateEntries(below: node) }
        if repliesWithAttributes { return }
        cache.invalidateAttributes(of: node.id)
        // It runs programs by what it knows of these.
        if let after, after.mode == object.facts.mode, after.owner == object.facts.owner, after.group == object.facts.group { return }
        node.attributeTime.forget(at: SystemTime.monotonic())
    }

    /// Whether the rights were universal before a change and are not after it.
    private func isNoLongerUniversal(_ rights: Rights, _ before: ObjectState, _ after: ObjectFacts?) -> Bool {
        guard judge.everybodyHolds(rights, on: before) else { return false }
        guard let after else { return true }
        return !judge.everybodyHolds(rights, on: after, before.location)
    }

    /// An object has moved to a new name; it keeps the time that it was given under the old one (R2).
    func invalidateMovedName(_ object: ObjectState, from source: ObjectState, to name: UnsafePointer<CChar>, in destination: ObjectState) {
        invalidateNameElsewhere(in: source, object.object)
        invalidateNameElsewhere(in: destination, nil)
        guard let old = source.node, let new = destination.node else { return }
        // Below a directory that moves between zones other rights hold.
        if object.location.zone != destination.location.below(name).zone, object.facts.kind == .directory {
            invalidateView()
        }
        if judge.everybodyHolds(.search, on: destination) {
            cache.move(loader.nodes.known(object.object)?.id, from: old, to: name, below: new)
        } else {
            cache.invalidateEntries(below: old)
        }
    }

    /// No names are handed out from now on, and those that were are taken back one by one. Until that is done,
    /// revocations still take back all at once: what someone mounts in that moment may be lost.
    func suspendForMountsBelow() {
        // With the lock, nobody stands between a look at the old times and the note of a name. What listings show that are
        // not used yet the kernel stamps when it uses them, in whatever epoch it was looked for.
        let batch = share.lock.withWriteLock { cache.suspendForMountsBelow(unused: handles.unusedNames) }
        batch.map(invalidateOneByOne)
    }

    /// On the clock's thread.
    func invalidateDeferredEntries() { cache.takeLateNames().map(invalidateOneByOne) }

    private func invalidateOneByOne(_ batch: NamesInFlight.Batch) {
        let invalidation = BlockingNotifications.EntryInvalidation(
            isInFlight: { [cache] in cache.isInFlight(batch.ticket) },
            removesEntry: { [self] name in
                guard let child = name.child, let node = loader.nodes.find(child) else { return false }
                // A directory's entry is used again under whatever name it is found, so it has the mark (R7).
                guard !node.isDirectory else {
                    node.revalidation.mark()
                    return false
                }
                // A late answer then meets an entry that nobody finds any more. Not where something is mounted on a file.
                guard let parent = loader.nodes.find(name.parent) else { return false }
                return !name.bytes.withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { mountsBelow.areReached(by: $0, in: parent.object) } ?? true
                }
            },
            whenDone: { [cache] in cache.finish(batch.ticket) })
        notifications.invalidateEntries(batch.names, invalidation)
    }
}
