import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// The object of a node id, and what the kernel may use of it.
final class Node: Sendable {
    let id: NodeID
    let object: BackingObject
    let exposure = NodeExposure()
    /// Of a directory: the table has `collidingCookies` of it.
    fileprivate let hasCollidingCookies = Atomic<Bool>(false)
    /// Changed only under the lock of the table.
    fileprivate nonisolated(unsafe) var lookupCount: UInt64 = 0
    fileprivate nonisolated(unsafe) var sibling: Node?
    /// In the live tables; -1: none.
    fileprivate nonisolated(unsafe) var slot: Int32 = -1

    init(id: NodeID, object: BackingObject) { (self.id, self.object) = (id, object) }

    var isDirectory: Bool { object.kind == .directory }
}

/// The nodes that the kernel knows. Ids count up and are never used twice in the life of a mount (invariant I8). The look-up count
/// of a node tells when the kernel has forgotten it.
final class NodeTable: Sendable {
    private struct Number: Hashable {
        var value: UInt64

        init(_ object: BackingObject) { value = object.key.inode ^ object.key.device &* 0x9E37_79B9_7F4A_7C15 }

        func _rawHashValue(seed: Int) -> Int { NumberHash.spread(value, seed: seed) }
    }
    private struct State {
        var nodes: [NodeID: Node] = [:]
        /// Nodes by a hash of the key, which takes an eighth of its memory. Nodes with the same hash form a list, the oldest first:
        /// of different objects, or of a file with names in several zones.
        var byNumber: [Number: Node] = [:]
        var next: UInt64 = 2
        /// What outlives this process; nil: nothing does.
        var live: LiveTables?
        /// Of directories with such names.
        var collidingCookies: [NodeID: CollidingCookies] = [:]

        func first(_ object: BackingObject) -> Node? { byNumber[Number(object)] }

        func node(of object: BackingObject) -> Node? {
            var candidate = first(object)
            while let node = candidate, node.object !== object, node.object.key != object.key { candidate = node.sibling }
            return candidate
        }

        /// Counts one look-up.
        /// - Parameter device: of the root.
        mutating func add(_ object: BackingObject, _ device: UInt64) -> Node {
            let node = Node(id: NodeID(next), object: object)
            next += 1
            node.lookupCount = 1
            if let live {
                live.note(nextNode: next)
                node.slot = live.add(node: node.id.rawValue, lookups: 1, object, object.savedDescriptor(on: device))
            }
            nodes[node.id] = node
            let number = Number(object)
            guard var last = byNumber[number] else {
                byNumber[number] = node
                return node
            }
            while let other = last.sibling { last = other }
            last.sibling = node
            return node
        }

        mutating func restore(_ saved: [SavedCookie], of node: Node) {
            if saved.isEmpty { return }
            collidingCookies[node.id] = CollidingCookies(saved)
            node.hasCollidingCookies.store(true, ordering: .relaxed)
        }

        mutating func count(_ node: Node) {
            node.lookupCount += 1
            live?.note(lookups: node.lookupCount, ofNodeAt: node.slot)
        }

        mutating func remove(_ node: Node) {
            nodes[node.id] = nil
            live?.remove(nodeAt: node.slot)
            if !collidingCookies.isEmpty { collidingCookies[node.id] = nil }
            let number = Number(node.object)
            if byNumber[number] === node {
                byNumber[number] = node.sibling
            } else {
                var before = byNumber[number]
                while let other = before, other.sibling !== node { before = other.sibling }
                before?.sibling = node.sibling
            }
            node.sibling = nil
        }
    }
    private let state = Lock(State())
    let root: Node
    let forgotten = ForgottenObjects()

    init(root: BackingObject) {
        self.root = Node(id: .root, object: root)
    }

    /// nil if the kernel does not know the node.
    func find(_ id: NodeID) -> Node? {
        if id == .root { return root }
        return state.withLock { $0.nodes[id] }
    }

    /// The node of an object, if the kernel knows it.
    func node(of object: BackingObject) -> Node? {
        // Compares keys, because the tree of another mount has an object of its own.
        if object === root.object || object.key == root.object.key { return root }
        return state.withLock { $0.node(of: object) }
    }

    /// Returns the node of an object that a reply exposes, and counts one look-up.
    func enter(_ object: BackingObject) -> Node {
        if object === root.object { return root }
        return state.withLock { state in
            if let node = state.node(of: object) {
                node.object.isOvermounted.store(object.isOvermounted.load(ordering: .relaxed), ordering: .relaxed)
                state.count(node)
                return node
            }
            return state.add(object, root.object.key.device)
        }
    }

    /// Adds a node for an object that may have others.
    func enterAnother(_ object: BackingObject) -> Node { state.withLock { $0.add(object, root.object.key.device) } }

    /// Counts one look-up.
    /// - Returns: false if the kernel has forgotten the node.
    func countLookup(of node: Node) -> Bool {
        state.withLock { state in
            guard state.nodes[node.id] === node else { return false }
            state.count(node)
            return true
        }
    }

    /// All nodes of an object that the kernel knows.
    func all(of object: BackingObject) -> [Node] {
        if object.key == root.object.key { return [root] }
        return state.withLock { state in
            var nodes: [Node] = []
            var candidate = state.first(object)
            while let node = candidate {
                if node.object.key == object.key { nodes.append(node) }
                candidate = node.sibling
            }
            return nodes
        }
    }

    /// Subtracts look-ups that the kernel returns. The count saturates, so a wrong number cannot underflow it.
    /// - Returns: the object, if the kernel has forgotten its last node.
    func forget(_ id: NodeID, _ count: UInt64) -> BackingObject? {
        if id == .root { return nil }
        return state.withLock { state in
            guard let node = state.nodes[id] else { return nil }
            node.lookupCount -= min(node.lookupCount, count)
            if node.lookupCount > 0 {
                state.live?.note(lookups: node.lookupCount, ofNodeAt: node.slot)
                return nil
            }
            state.remove(node)
            // The kernel may know the object by another node.
            return state.node(of: node.object) == nil ? node.object : nil
        }
    }

    /// The table of a directory; nil if it has none.
    func collidingCookies(of directory: Node) -> CollidingCookies? {
        guard directory.hasCollidingCookies.load(ordering: .relaxed) else { return nil }
        return state.withLock { $0.collidingCookies[directory.id] }
    }

    /// Makes a table for a directory, unless it has one.
    func makeCollidingCookies(of directory: Node) -> CollidingCookies {
        state.withLock { state in
            if let known = state.collidingCookies[directory.id] { return known }
            let new = CollidingCookies()
            // A node that the kernel has forgotten would never be removed again.
            guard directory.id == .root || state.nodes[directory.id] === directory else { return new }
            state.collidingCookies[directory.id] = new
            directory.hasCollidingCookies.store(true, ordering: .relaxed)
            return new
        }
    }

    /// From now on notes everything in tables that outlive this process. Call before the first request that is answered.
    func follow(_ live: LiveTables) {
        state.withLock { state in
            state.live = live
            live.note(nextNode: state.next)
            for node in state.nodes.values {
                node.slot = live.add(
                    node: node.id.rawValue, lookups: node.lookupCount, node.object, node.object.savedDescriptor(on: root.object.key.device))
            }
        }
    }

    /// The look-ups of all nodes but the root.
    var lookups: [(id: NodeID, count: UInt64)] { state.withLock { $0.nodes.values.map { ($0.id, $0.lookupCount) } } }

    func lookups(of id: NodeID) -> UInt64? { state.withLock { $0.nodes[id]?.lookupCount } }

    /// - Parameter save: what another process needs to find an object; nil if it cannot.
    /// - Returns: nil: another process could not find one of the objects.
    func save(_ save: (BackingObject) -> SavedObject?) -> (nodes: [SavedNode], rootCookies: [SavedCookie], next: UInt64)? {
        state.withLock { state in
            var nodes: [SavedNode] = []
            nodes.reserveCapacity(state.nodes.count)
            for node in state.nodes.values {
                guard let object = save(node.object) else { return nil }
                nodes.append(
                    SavedNode(
                        id: node.id.rawValue, lookups: node.lookupCount, object: object, isMarked: node.exposure.revalidation.isPossible,
                        collidingCookies: state.collidingCookies[node.id]?.save() ?? []))
            }
            return (nodes, state.collidingCookies[.root]?.save() ?? [], state.next)
        }
    }

    /// Call before the first request.
    /// - Parameter restore: finds an object.
    func restore(
        _ saved: [SavedNode], rootCookies: [SavedCookie], next: UInt64, _ restore: (SavedObject) throws(SavedProblem) -> BackingObject
    ) throws(SavedProblem) {
        try state.withLock { (state) throws(SavedProblem) in
            for saved in saved {
                state.next = saved.id
                let node = state.add(try restore(saved.object), root.object.key.device)
                node.lookupCount = saved.lookups
                if saved.isMarked { node.exposure.revalidation.mark() }
                state.restore(saved.collidingCookies, of: node)
            }
            state.restore(rootCookies, of: root)
            state.next = next
        }
    }

    /// All nodes that the kernel knows, with the root.
    var all: [Node] { state.withLock { [root] + $0.nodes.values } }

    var count: Int { state.withLock { $0.nodes.count } }
}
