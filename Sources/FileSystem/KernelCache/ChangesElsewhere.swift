import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Objects at rest are watched instead of asked about (docs/internals/coherence.md "Changes elsewhere"). A change that does not come through aclfs ends
// the watch; only then does the kernel ask again.

extension KernelView {
    /// Seconds. A younger ctime belongs to an object that is busy, or might be that of several changes.
    private static let shortestRest: Int64 = 2

    /// The timeout of attributes that every caller may see: long for an object that is watched.
    func timeoutAtPresent(_ object: ObjectState, of node: Node, mayBeginWatch: Bool) -> Double {
        let timeouts = cache.timeouts
        guard timeouts.watchedAttributes > timeouts.attributes, isAtRest(object) else { return timeouts.attributes }
        if share.watched.isWatched(object.object.key, at: object.status.ctime) { return timeouts.watchedAttributes }
        // Most objects are asked about once and never again. One that is watched already has changed through a mount.
        let now = SystemTime.monotonic()
        guard mayBeginWatch, node.exposure.attributeTimeout.hasEnded(at: now) || share.watched.isWatched(object.object.key) else {
            return timeouts.attributes
        }
        return beginWatch(of: object, at: now) ? timeouts.watchedAttributes : timeouts.attributes
    }

    /// Watches a directory before names in it are looked up that may be exposed, unless others change it often. The names are then valid until
    /// the kernel tells otherwise. Callers may change them meanwhile: that their kernel knows.
    func watchNames(of directory: inout ObjectState) {
        let timeouts = cache.timeouts
        guard timeouts.watchedAttributes > timeouts.attributes, let node = directory.node,
            share.watched.mayWatch(directory.object, in: loader.tree),
            // Otherwise a change in the moment of this ctime might be missed.
            loader.tree.distinguishesEveryChange(directory.status, directory.descriptor) || isOlder(directory.status.ctime)
        else { return }
        defer { directory.watchesAtLookup = share.watched.marks }
        guard !share.watched.isWatched(directory.object.key, sinceBefore: directory.status.ctime) else { return }
        let now = SystemTime.monotonic()
        // A name that comes or goes each moment would make the kernel look up all others each moment.
        guard !node.exposure.attributeTimeout.wasInvalidated(at: now), judge.everyCallerHolds(.search, on: directory) else { return }
        _ = beginWatch(of: directory, at: now)
    }

    /// Whether a directory is watched, and was when names in it were looked up.
    func isWatchedSinceLookup(_ directory: ObjectState) -> Bool {
        share.watched.isWatched(
            directory.object.key, sinceBefore: directory.status.ctime,
            // A complete change shows in the ctime. Otherwise the name may have followed after it was looked up, and before the watch.
            at: Self.isChangeComplete(at: directory.status.ctime) ? .max : directory.watchesAtLookup)
    }

    private func isAtRest(_ object: ObjectState) -> Bool {
        share.watched.mayWatch(object.object, in: loader.tree) && isOlder(object.status.ctime)
    }

    private func isOlder(_ ctime: Timespec) -> Bool { ctime.sec < SystemTime.now().sec - Self.shortestRest }

    /// Begins to watch an object.
    /// - Returns: whether the object is the same as when it was loaded, and will not change untold.
    private func beginWatch(of object: ObjectState, at now: UInt64) -> Bool {
        for old in share.watched.makeRoom(at: now) { mounts.forEach { $0.invalidateUnwatched(old.object) } }
        let descriptor = object.descriptor.rawValue
        guard let watch = share.watched.begin(object.object, descriptor, in: loader.tree, at: now) else { return false }
        // No event tells of stores into a mapping, so no process may have the file open for writing. A writer who comes later has to open it.
        let mayChangeUntold = object.object.kind == .file && (try? Syscall.isOpenForWriting(descriptor)) != false
        // After both: what changed before them shows in the ctime.
        if !mayChangeUntold, areFactsRead(of: object), let status = try? Syscall.statx(descriptor), status.ctime == object.status.ctime,
            share.watched.confirm(watch, status.ctime)
        {
            return true
        }
        endWatch(of: object.object)
        return false
    }

    /// Whether the facts that were judged are those of the present record, and not assumed after a change by the daemon.
    private func areFactsRead(of object: ObjectState) -> Bool {
        // The ctime of a change may come before the change.
        if Self.isChangeComplete(at: object.status.ctime), loader.tree.isCurrent(object.object, object.status) { return true }
        return (try? loader.tree.factsReadAnew(object.object, object.descriptor, object.status)) == object.facts
    }

    /// Ends the watch of an object, if there is one, and invalidates what rests on it. Call it after a file was opened for writing: the kernel
    /// reports what is written without the daemon in the caller's name.
    func endWatch(of object: BackingObject) {
        guard let handle = object.key.handle, share.watched.end(handle) != nil else { return }
        mounts.forEach { $0.invalidateUnwatched(object) }
    }

    /// Invalidates attributes of nodes that the kernel did not know when they were invalidated. Called by the clock.
    /// - Parameter now: monotonic nanoseconds.
    func invalidateUnknownNodes(_ now: UInt64) {
        cache.unknown.invalidateDue(now) { loader.nodes.find($0) == nil || cache.invalidateKnownAttributes(of: $0) }
    }

    /// Invalidates attributes of an object that is watched no longer. It takes no lock of the kernel.
    func invalidateUnwatched(_ object: BackingObject) {
        loader.forEachNode(of: object) { node in
            node.exposure.attributeTimeout.invalidate(at: SystemTime.monotonic())
            node.exposure.endRest()
            // A look-up in flight may bring the old ones. With its entry stale, the kernel asks again.
            if !cache.invalidateKnownAttributes(of: node.id) {
                cache.requestBump()
                if cache.unknown.add(node.id, at: SystemTime.monotonic()) { cache.wakeClock() }
            }
        }
    }
}
