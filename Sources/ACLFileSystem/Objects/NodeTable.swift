import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// What one node id stands for, and what the kernel was told about it.
final class Node: Sendable {
    let id: NodeID
    let object: BackingObject
    /// Of a directory: the epoch in which a name below it was last handed out.
    let lastExposure = Atomic<UInt64>(0)
    /// Of a directory: its ctime before the first of the names that were handed out in that epoch was looked for.
    /// Used only under the mutex of the kernel's cache.
    nonisolated(unsafe) var ctimeAtExposure = Timespec(sec: 0, nsec: 0)
    /// Of a directory: monotonic nanoseconds when its objects were last shown in a listing from its beginning.
    let lastListed = Atomic<UInt64>(0)
    /// Of a directory: READDIRPLUS replies that the kernel may not have used yet (R5).
    let unusedListings = Atomic<Int>(0)
    let revalidation = Revalidation()
    let attributeTimeout = AttributeTimeout()
    /// Of a directory: one more than there had been bumps when its name was last given a time; 0 = nothing of that is left.
    let lastCacheable = Atomic<UInt64>(0)
    /// Of anything else: one more than there had been bumps when its name was last answered without a time; 0 = never.
    /// The kernel may ask about such a name without a lock, and use a late answer after the name was taken back singly.
    let lastUncacheable = Atomic<UInt64>(0)
    /// Changed only under the table's mutex.
    fileprivate nonisolated(unsafe) var lookupCount: UInt64 = 0
    fileprivate nonisolated(unsafe) var sibling: Node?

    init(id: NodeID, object: BackingObject) { (self.id, self.object) = (id, object) }

    var isDirectory: Bool { object.kind == .directory }
}

/// The nodes that the kernel knows. Ids count up and are never used twice in the life of a mount
/// (invariant I8); the lookup count says when the kernel has forgotten one.
final class NodeTable: Sendable {
    private struct Number: Hashable {
        var value: UInt64

        init(_ object: BackingObject) { value = object.key.inode ^ object.key.device &* 0x9E37_79B9_7F4A_7C15 }

        func _rawHashValue(seed: Int) -> Int { NumberHash.spread(value, seed: seed) }
    }
    private struct State {
        var nodes: [NodeID: Node] = [:]
        /// By the object's number, which takes an eighth of the room of its key. Of those that share one, each leads to
        /// the next: of different objects, and of a file with names in several zones of a confined mount. The oldest
        /// stands first.
        var byNumber: [Number: Node] = [:]
        var next: UInt64 = 2

        func first(_ object: BackingObject) -> Node? { byNumber[Number(object)] }

        func node(of object: BackingObject) -> Node? {
            var candidate = first(object)
            while let node = candidate, node.object !== object, node.object.key != object.key { candidate = node.sibling }
            return candidate
        }

        /// Counts one look-up.
        mutating func add(_ object: BackingObject) -> Node {
            let node = Node(id: NodeID(next), object: object)
            next += 1
            node.lookupCount = 1
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

        mutating func remove(_ node: Node) {
            nodes[node.id] = nil
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

    init(root: BackingObject) {
        self.root = Node(id: .root, object: root)
    }

    /// nil if the kernel speaks of a node that it was never told of or has given back.
    func find(_ id: NodeID) -> Node? {
        if id == .root { return root }
        return state.withLock { $0.nodes[id] }
    }

    /// The node of an object, if the kernel knows it.
    func node(of object: BackingObject) -> Node? {
        // By its key: another mount's tree may have it as an object of its own.
        if object === root.object || object.key == root.object.key { return root }
        return state.withLock { $0.node(of: object) }
    }

    /// The node of an object about to be shown to the kernel; counts one look-up.
    func enter(_ object: BackingObject) -> Node {
        if object === root.object { return root }
        return state.withLock { state in
            if let node = state.node(of: object) {
                node.object.isCovered.store(object.isCovered.load(ordering: .relaxed), ordering: .relaxed)
                node.lookupCount += 1
                return node
            }
            return state.add(object)
        }
    }

    /// A node of its own for an object that may have others.
    func enterAnother(_ object: BackingObject) -> Node { state.withLock { $0.add(object) } }

    /// Counts a look-up of this node, if the kernel has not forgotten it meanwhile.
    func countLookup(of node: Node) -> Bool {
        state.withLock { state in
            guard state.nodes[node.id] === node else { return false }
            node.lookupCount += 1
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

    /// The kernel gives look-ups back. Counts saturate: a wrong count cannot underflow us.
    /// - Returns: the object, if this was the last.
    func forget(_ id: NodeID, _ count: UInt64) -> BackingObject? {
        if id == .root { return nil }
        return state.withLock { state in
            guard let node = state.nodes[id] else { return nil }
            node.lookupCount -= min(node.lookupCount, count)
            if node.lookupCount > 0 { return nil }
            state.remove(node)
            // It may still be known by another.
            return state.node(of: node.object) == nil ? node.object : nil
        }
    }

    /// All that the kernel knows now, the root among them.
    var all: [Node] { state.withLock { [root] + $0.nodes.values } }

    var count: Int { state.withLock { $0.nodes.count } }
}
