import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// Loads objects: turns a node id, or a directory and a name, into the object with the facts that a decision reads. It decides
/// nothing and changes nothing. All of it runs under the metadata lock.
final class ObjectLoader: Sendable {
    let tree: BackingTree
    let nodes: NodeTable
    /// What confines this mount; nil: nothing.
    let view: ViewPolicy?
    let share: Share
    private let keepsDirectories = Atomic<Bool>(false)

    init(_ tree: BackingTree, _ view: ViewPolicy?, _ share: Share) {
        (self.tree, self.view, self.share) = (tree, view, share)
        nodes = NodeTable(root: tree.root)
    }

    func node(_ id: NodeID) throws(Errno) -> Node {
        // ESTALE would make the kernel repeat the walk under other rules (docs/internals/coherence.md R9).
        guard let node = nodes.find(id) else { throw .io }
        return node
    }

    func load(_ id: NodeID) throws(Errno) -> ObjectState { try load(node(id)) }

    func load(_ node: Node) throws(Errno) -> ObjectState {
        try requireNoGateAbove(node)
        let descriptor = try tree.descriptor(of: node.object)
        let (marks, now) = (share.watched.marks, node.isDirectory ? SystemTime.monotonic() : 0)
        let status = try Syscall.statx(descriptor.rawValue)
        if status.nlink == 0 { node.object.hasLostNames.store(true, ordering: .relaxed) }
        return ObjectState(
            object: node.object, descriptor: descriptor, status: status,
            facts: try tree.facts(node.object, descriptor, status),
            location: location(of: node, descriptor, status), node: node, watchesAtLookup: marks, readAt: now)
    }

    /// Whether the mount lets its kernel answer while nothing tells of changes; only then this daemon does, too.
    func keepDirectories(_ keeps: Bool) { keepsDirectories.store(keeps, ordering: .sequentiallyConsistent) }

    /// Loads a directory in which names are looked up or change. Where the kernel tells of every change of a directory, what decides is not read
    /// anew for each name (docs/decisions/0040-directories-between-names.md).
    func loadParent(_ id: NodeID) throws(Errno) -> ObjectState {
        let node = try node(id)
        guard keepsDirectories.load(ordering: .relaxed),
            let status = share.watched.keptStatus(of: node.object.key, in: tree, at: share.lock.writesBefore),
            let facts = tree.cachedFacts(node.object, status)
        else { return try load(node) }
        try requireNoGateAbove(node)
        let descriptor = try tree.descriptor(of: node.object)
        return ObjectState(
            object: node.object, descriptor: descriptor, status: status, facts: facts, location: location(of: node, descriptor, status),
            node: node, watchesAtLookup: share.watched.marks, isKept: true)
    }

    /// Call it after a caller has changed a name in a directory, under the lock under which it was loaded. An act that changes what decides about
    /// names in the directory must not call it.
    func noteNameChange(in directory: ObjectState) {
        if ThreadMark.isSet { return }
        let key = directory.object.key
        let (before, after) = (share.lock.writesBefore, share.lock.writesAfter)
        if directory.isKept {
            if before != after { share.watched.renewKept(key, in: tree, from: before, to: after) }
            return
        }
        // While the kernel tells of every change, the record counts that was read, and is not assumed for another second.
        let isKept =
            keepsDirectories.load(ordering: .relaxed) && tree.isCurrent(directory.object, directory.status)
            && share.watched.keep(directory.status, of: key, in: tree, at: directory.watchesAtLookup, after, since: directory.readAt)
        if !isKept { keepRecord(of: directory) }
    }

    /// Loads an object again after a change by the daemon.
    /// - Parameter keepsRecord: the change did not touch the stored record.
    func reload(_ object: ObjectState, keepsRecord: Bool) throws(Errno) -> ObjectState {
        let status = try Syscall.statx(object.descriptor.rawValue)
        if keepsRecord, !ThreadMark.isSet {
            tree.keepRecord(of: object.object, before: object.status, after: status, object.descriptor)
        }
        return ObjectState(
            object: object.object, descriptor: object.descriptor, status: status,
            facts: try tree.facts(object.object, object.descriptor, status), location: object.location, node: object.node,
            watchesAtLookup: object.watchesAtLookup)
    }

    /// Keeps the cached record after a change by the daemon that moved only the ctime: of a directory in which names changed, or of
    /// the object that was moved.
    func keepRecord(of object: ObjectState) {
        // On a spare thread no lock was held, so another change may have come first.
        if ThreadMark.isSet { return }
        guard let status = try? Syscall.statx(object.descriptor.rawValue, flags: AtFlag.dontSync) else { return }
        tree.keepRecord(of: object.object, before: object.status, after: status, object.descriptor)
    }

    func load(_ resolved: ResolvedObject, _ location: EffectiveLocation) throws(Errno) -> ObjectState {
        ObjectState(
            object: resolved.object, descriptor: resolved.descriptor, status: resolved.status,
            facts: try tree.facts(resolved), location: location)
    }

    /// Resolves a name in a directory and loads its object.
    func child(_ name: UnsafePointer<CChar>, of parent: ObjectState) throws(Errno) -> ObjectState {
        try requireOpenGate(of: parent.object)
        return try load(tree.resolve(name, in: parent.descriptor, parent.status), parent.location.below(name))
    }

    /// Whether a directory has the group of the directory that it lies in. The root of the mount lies in none.
    func hasGroupOfParent(_ directory: ObjectState) -> Bool {
        guard directory.object.key != tree.root.key,
            let above = try? Syscall.openat(directory.descriptor.rawValue, "..", OpenFlag.path | OpenFlag.directory)
        else { return false }
        let parent = SharedDescriptor(above)
        guard let status = try? Syscall.statx(parent.rawValue), status.gid == directory.facts.group,
            let record = try? tree.record(parent.rawValue)
        else { return false }
        return record.groupGUID == directory.facts.groupGUID
    }

    /// nil if there is no such name.
    func childIfThere(_ name: UnsafePointer<CChar>, of parent: ObjectState) throws(Errno) -> ObjectState? {
        do { return try child(name, of: parent) } catch {
            if error == .noent { return nil }
            throw error
        }
    }

    /// The nodes of a file that has several on a confined mount. A change through one of them concerns all.
    func nodesIfSeveral(of object: BackingObject) -> [Node] {
        guard view != nil, object.kind != .directory else { return [] }
        let all = nodes.all(of: object)
        return all.count > 1 ? all : []
    }

    func forEachNode(of object: BackingObject, _ body: (Node) -> Void) {
        guard view != nil else {
            if let node = nodes.node(of: object) { body(node) }
            return
        }
        for node in nodes.all(of: object) { body(node) }
    }
}
