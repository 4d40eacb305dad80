import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// What a change through one mount means for the kernels of the tree's other mounts (docs/coherence.md "Several
// mounts"). All of it after the change and before the reply, with the metadata lock held for writing where names or
// facts are concerned; none of it waits for the kernel.

extension KernelView {
    /// Facts or attributes of an object are others now.
    func invalidateElsewhere(_ object: BackingObject) {
        mounts.forEachOther(than: self) { $0.invalidateAfterChangeElsewhere(of: object) }
        for node in loader.nodesIfSeveral(of: object) { cache.invalidateAttributes(of: node.id) }
    }

    /// A name in this directory means another object than before, or none.
    func invalidateNameElsewhere(in directory: ObjectState, _ child: BackingObject?) {
        mounts.forEachOther(than: self) { other in
            other.invalidateAfterChangeElsewhere(of: directory.object)
            // How many names it has is an attribute of its own.
            if let child { other.invalidateAfterChangeElsewhere(of: child) }
        }
    }

    /// Attributes have changed without a request that would carry the new ones to the kernel.
    func invalidateAttributes(of node: Node) {
        node.attributeTime.forget(at: SystemTime.monotonic())
        cache.invalidateAttributes(of: node.id)
        invalidateElsewhere(node.object)
    }

    /// No lock of our kernel's was held (R12, R14).
    private func invalidateAfterChangeElsewhere(of object: BackingObject) {
        loader.forEachNode(of: object) { node in
            if node.isDirectory { cache.invalidateEntries(below: node) }
            if !cache.invalidateKnownAttributes(of: node.id) {
                // A look-up under way brings the old ones; with its name out of date they are asked for again.
                cache.invalidateUnknown()
            }
        }
    }

    /// A directory has moved through another mount. If it has left its zone, all that is below it has, and how far that
    /// goes only the backing directory knows.
    func invalidateIfZoneChanges(
        from source: ObjectState, _ name: UnsafePointer<CChar>, to destination: ObjectState, _ newName: UnsafePointer<CChar>
    ) {
        guard loader.zone(of: name, in: source) != loader.zone(of: newName, in: destination) else { return }
        invalidateView()
    }

    /// Everything that was handed out by zones.
    func invalidateView() {
        guard loader.view != nil else { return }
        cache.invalidateUnknown()
        for node in loader.nodes.all { cache.invalidateAttributes(of: node.id) }
    }

    /// Bytes of a file have changed through this mount. The others' kernels may hold pages of it; they are dropped, but
    /// not before the reply, because that waits for reads which may wait for us.
    func invalidateContent(of object: BackingObject) {
        mounts.forEachOther(than: self) { other in
            other.loader.forEachNode(of: object) { other.notifications.invalidateContent(of: $0.id) }
        }
        for node in loader.nodesIfSeveral(of: object) { notifications.invalidateContent(of: node.id) }
        invalidateElsewhere(object)
    }

    /// Whether attributes may change without our being told in time: somebody writes the file, perhaps through another
    /// mount, whose kernel keeps what it writes to itself.
    func mayChangeElsewhere(_ object: BackingObject) -> Bool {
        share.hasSeveralMounts && object.kind == .file && share.growing.isOpenForWriting(object.key)
    }

    /// Whether the kernel may just be learning of an object, so that it cannot be told that its attributes have changed.
    func mayBeUnknownToKernel(_ object: BackingObject) -> Bool { share.hasSeveralMounts && loader.nodes.known(object) == nil }
}

extension KernelView {
    /// Before all names are taken back at once for a reason that has time: what was mounted below a moment ago would be lost
    /// (docs/coherence.md "The price of a bump"). Whoever holds a directory delays it by half a second at most.
    /// Never from a thread that answers requests, nor the clock's.
    func awaitSettledMounts() {
        let end = SystemTime.monotonic() + 500_000_000
        while !cache.isSettled, SystemTime.monotonic() < end { SystemTime.sleep(milliseconds: 1) }
    }

    /// Nothing is handed out any more, and what was is taken back before this returns. Until then changes through the
    /// other mount are not told to this one's kernel.
    func stopCaching() throws(Errno) {
        awaitSettledMounts()
        share.lock.withWriteLock { cache.suspend(.severalMounts) }
        // Listings that were answered but not yet used would be stamped after the bump (R4).
        let listed = loader.nodes.all.filter { $0.unusedListings.load(ordering: .sequentiallyConsistent) > 0 }
        if !listed.isEmpty { try notifications.awaitListings(of: listed.map { $0.id }) }
        cache.invalidateAllEntries()
        for node in loader.nodes.all { cache.invalidateAttributes(of: node.id) }
    }
}
