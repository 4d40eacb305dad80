import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// What a change through one mount means for the kernels of the tree's other mounts (docs/coherence.md "Several
// mounts"). All of it after the change and before the reply, with the metadata lock held for writing where names or
// facts are concerned; none of it waits for the kernel.

extension FileSystem {
    /// Facts or attributes of an object are others now.
    func tellOthers(of object: BackingObject) {
        share.forEachOther(than: self) { $0.wasChangedElsewhere(object) }
        for node in nodesIfSeveral(of: object) { cache.takeBackAttributes(of: node.id) }
    }

    /// The nodes of a file that a confined mount shows as several: a change through one is a change of the others.
    func nodesIfSeveral(of object: BackingObject) -> [Node] {
        guard view != nil, object.kind != .directory else { return [] }
        let all = nodes.all(of: object)
        return all.count > 1 ? all : []
    }

    func forEachNode(of object: BackingObject, _ body: (Node) -> Void) {
        guard view != nil else {
            if let node = nodes.known(object) { body(node) }
            return
        }
        for node in nodes.all(of: object) { body(node) }
    }

    /// A name in this directory means another object than before, or none.
    func tellOthers(ofNameIn directory: Loaded, _ child: BackingObject?) {
        share.forEachOther(than: self) { other in
            other.wasChangedElsewhere(directory.object)
            // How many names it has is an attribute of its own.
            if let child { other.wasChangedElsewhere(child) }
        }
    }

    /// Attributes have changed without a request that would carry the new ones to the kernel.
    func takeBackAttributes(of node: Node) {
        node.attributeTime.forget(at: SystemTime.monotonic())
        cache.takeBackAttributes(of: node.id)
        tellOthers(of: node.object)
    }

    /// No lock of our kernel's was held (R12, R14).
    private func wasChangedElsewhere(_ object: BackingObject) {
        forEachNode(of: object) { node in
            if node.isDirectory { cache.takeBackNames(below: node) }
            if !cache.takeBackKnownAttributes(of: node.id) {
                // A look-up under way brings the old ones; with its name out of date they are asked for again.
                cache.takeBackUnknown()
            }
        }
    }

    /// A directory has moved through another mount. If it has left its zone, all that is below it has, and how far that
    /// goes only the backing directory knows.
    func hasMovedElsewhere(
        from source: Loaded, _ name: UnsafePointer<CChar>, to destination: Loaded, _ newName: UnsafePointer<CChar>
    ) {
        guard zone(of: name, in: source) != zone(of: newName, in: destination) else { return }
        takeBackAllOfView()
    }

    /// Everything that was handed out by zones.
    func takeBackAllOfView() {
        guard view != nil else { return }
        cache.takeBackUnknown()
        for node in nodes.all { cache.takeBackAttributes(of: node.id) }
    }

    /// Whether attributes may change without our being told in time: somebody writes the file, perhaps through another
    /// mount, whose kernel keeps what it writes to itself.
    func changesElsewhere(_ object: BackingObject) -> Bool {
        share.hasSeveralMounts && object.kind == .file && share.growing.isOpenForWriting(object.key)
    }

    /// Whether the kernel may just be learning of an object, so that it cannot be told that its attributes have changed.
    func isNewHere(_ object: BackingObject) -> Bool { share.hasSeveralMounts && nodes.known(object) == nil }
}
