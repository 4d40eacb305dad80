import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Invalidates what a change through one mount makes untrue in the kernels of the tree's other mounts (docs/internals/coherence.md "Several
// mounts"). It runs after the change and before the reply, with the metadata lock held for writing where names or facts change. None of it
// waits for the kernel.

extension KernelView {
    /// Invalidates an object whose facts or attributes have changed, in the other mounts and under its other nodes here.
    /// - Parameter onlyEntries: mode, owner, size, links and times are the same, apart from the ctime.
    func invalidateElsewhere(_ object: BackingObject, onlyEntries: Bool = false) {
        mounts.forEachOther(than: self) { $0.invalidateAfterChangeElsewhere(of: object, onlyEntries: onlyEntries) }
        for node in loader.nodesIfSeveral(of: object) { cache.invalidateAttributes(of: node.id) }
    }

    /// Invalidates a name that leads to another object than before, or to none, in the other mounts.
    func invalidateNameElsewhere(in directory: ObjectState, _ child: BackingObject?) {
        mounts.forEachOther(than: self) { other in
            other.invalidateAfterChangeElsewhere(of: directory.object)
            // Its link count has changed.
            if let child { other.invalidateAfterChangeElsewhere(of: child) }
        }
    }

    /// Invalidates attributes that changed without a reply that brings the kernel the new ones.
    func invalidateAttributes(of node: Node) {
        node.exposure.attributeTimeout.invalidate(at: SystemTime.monotonic())
        cache.invalidateAttributes(of: node.id)
        invalidateElsewhere(node.object)
    }

    /// Invalidates an object that changed through another mount, so without a lock of this kernel (R12, R14).
    private func invalidateAfterChangeElsewhere(of object: BackingObject, onlyEntries: Bool = false) {
        loader.forEachNode(of: object) { node in
            // Before the notification: the kernel has to take the attributes of the next answer.
            if !onlyEntries { node.exposure.noteChangeElsewhere() }
            if node.isDirectory {
                node.exposure.endRest()
                cache.invalidateEntries(below: node)
            }
            if !cache.invalidateKnownAttributes(of: node.id) {
                // A look-up in flight may bring the old ones. With its entry stale, the kernel asks again.
                cache.invalidateAllEntries()
            }
        }
    }

    /// Invalidates everything if a directory that moved through another mount has left its zone: all below it has left too, and only the
    /// backing directory knows how much that is.
    func invalidateIfZoneChanges(
        from source: ObjectState, _ name: UnsafePointer<CChar>, to destination: ObjectState, _ newName: UnsafePointer<CChar>
    ) {
        guard loader.zone(of: name, in: source) != loader.zone(of: newName, in: destination) else { return }
        invalidateView()
    }

    /// Invalidates everything if a grant of this mount has followed its object to another place, or has ended with it.
    func invalidateIfGrantsMoved() {
        if loader.view?.takeMovedGrants() == true { invalidateView() }
    }

    /// Invalidates everything that this mount exposed by its zones.
    func invalidateView() {
        guard loader.view != nil else { return }
        cache.invalidateAllEntries()
        for node in loader.nodes.all { cache.invalidateAttributes(of: node.id) }
    }

    /// Invalidates the pages that the other mounts' kernels hold of a file whose bytes have changed. They may go after the reply: the
    /// notification waits for reads, which may wait for the daemon.
    func invalidateContent(of object: BackingObject) {
        mounts.forEachOther(than: self) { other in
            other.loader.forEachNode(of: object) { other.notifications.invalidateContent(of: $0.id) }
        }
        for node in loader.nodesIfSeveral(of: object) { notifications.invalidateContent(of: node.id) }
        invalidateElsewhere(object)
    }

    /// Whether the attributes may change without a request in time: a process has the file open for writing, perhaps through another
    /// mount, whose kernel caches what it writes.
    func mayChangeElsewhere(_ object: BackingObject) -> Bool {
        share.hasSeveralMounts && object.kind == .file && share.writableFiles.isOpenForWriting(object.key)
    }

    /// Whether the reply in flight may be the first of this object, so that a notification would not find it.
    func mayBeUnknownToKernel(_ object: BackingObject) -> Bool { share.hasSeveralMounts && loader.nodes.node(of: object) == nil }
}

extension KernelView {
    /// Waits until the mount table is read and no invalidation is in flight, half a second at most. Call it before a bump that is not
    /// urgent: the bump would detach a mount that was made a moment ago (docs/internals/coherence.md "The price of a bump").
    /// Never call it on a thread that answers requests, nor on the clock's.
    func awaitFinishedInvalidations() {
        let end = SystemTime.monotonic() + 500_000_000
        while !cache.confirmInvalidated(), SystemTime.monotonic() < end { SystemTime.sleep(milliseconds: 1) }
    }

    /// Exposes nothing from now on and invalidates what is exposed before it returns. Until then this kernel does not learn of changes
    /// through the other mount.
    /// - Throws: `timedout` if a caller keeps a listing from being used.
    func stopCaching() throws(Errno) {
        awaitFinishedInvalidations()
        try invalidateEverything(during: .severalMounts)
    }

    /// Invalidates all that the kernel holds of this mount, and exposes nothing from now on: a barrier, then the bump, then attributes (R1,
    /// R4, R12).
    /// - Throws: `timedout`. What takes no lock of the kernel is invalidated even so, for the mount's other callers.
    func invalidateEverything(during reason: KernelCache.Suspension, milliseconds: UInt64 = 5000) throws(Errno) {
        share.lock.withWriteLock { cache.suspend(reason) }
        defer {
            cache.invalidateAllEntries()
            for node in loader.nodes.all {
                node.exposure.endRest()
                cache.invalidateAttributes(of: node.id)
            }
        }
        // The kernel would stamp an unused listing after the bump (R4).
        let listed = loader.nodes.all.filter { $0.exposure.hasUnusedListing }
        if !listed.isEmpty { try notifications.awaitListings(of: listed.map { $0.id }, milliseconds: milliseconds) }
    }
}
