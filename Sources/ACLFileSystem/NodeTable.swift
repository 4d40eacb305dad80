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
    let lastHandOut = Atomic<UInt64>(0)
    /// Of a directory: READDIRPLUS replies that the kernel may not have used yet (R5).
    let unusedListings = Atomic<Int>(0)
    let revalidation = Revalidation()
    /// Of a directory: its name was given a time, and nothing has told the kernel otherwise since.
    let isHandedOut = Atomic<Bool>(false)

    init(id: NodeID, object: BackingObject) { (self.id, self.object) = (id, object) }

    var isDirectory: Bool { object.kind == .directory }
}

/// The nodes that the kernel knows. Ids count up and are never used twice in the life of a mount
/// (invariant I8); the lookup count says when the kernel has forgotten one.
final class NodeTable: Sendable {
    private struct Slot {
        var node: Node
        var lookupCount: UInt64
    }
    private struct State {
        var slots: [NodeID: Slot] = [:]
        var ids: [ObjectKey: NodeID] = [:]
        /// Further nodes of one object: of a file with names in several zones of a confined mount.
        var others: [ObjectKey: [NodeID]] = [:]
        var next: UInt64 = 2
    }
    private let state = Mutex(State())
    let root: Node

    init(root: BackingObject) {
        self.root = Node(id: .root, object: root)
    }

    /// nil if the kernel speaks of a node that it was never told of or has given back.
    func find(_ id: NodeID) -> Node? {
        if id == .root { return root }
        return state.withLock { $0.slots[id]?.node }
    }

    /// The node of an object, if the kernel knows it.
    func known(_ object: BackingObject) -> Node? {
        // By its key: another mount's tree may have it as an object of its own.
        if object.key == root.object.key { return root }
        return state.withLock { state in state.ids[object.key].flatMap { state.slots[$0]?.node } }
    }

    /// The node of an object about to be shown to the kernel; counts one look-up.
    func enter(_ object: BackingObject) -> Node {
        if object === root.object { return root }
        return state.withLock { state in
            if let id = state.ids[object.key], var slot = state.slots[id] {
                let isCovered = object.isCovered.load(ordering: .relaxed)
                slot.node.object.isCovered.store(isCovered, ordering: .relaxed)
                slot.lookupCount += 1
                state.slots[id] = slot
                return slot.node
            }
            return Self.add(object, &state)
        }
    }

    private static func add(_ object: BackingObject, _ state: inout State) -> Node {
        let id = NodeID(state.next)
        state.next += 1
        let node = Node(id: id, object: object)
        state.slots[id] = Slot(node: node, lookupCount: 1)
        if state.ids[object.key] == nil {
            state.ids[object.key] = id
        } else {
            state.others[object.key, default: []].append(id)
        }
        return node
    }

    /// A node of its own for an object that may have others.
    func enterAnother(_ object: BackingObject) -> Node { state.withLock { Self.add(object, &$0) } }

    /// Counts a look-up of this node, if the kernel has not forgotten it meanwhile.
    func enter(_ node: Node) -> Bool {
        state.withLock { state in
            guard var slot = state.slots[node.id] else { return false }
            slot.lookupCount += 1
            state.slots[node.id] = slot
            return true
        }
    }

    /// All nodes of an object that the kernel knows.
    func all(of object: BackingObject) -> [Node] {
        if object.key == root.object.key { return [root] }
        return state.withLock { state in
            guard let first = state.ids[object.key] else { return [] }
            return ([first] + (state.others[object.key] ?? [])).compactMap { state.slots[$0]?.node }
        }
    }

    /// The kernel gives look-ups back. Counts saturate: a wrong count cannot underflow us.
    /// - Returns: the object, if this was the last.
    func forget(_ id: NodeID, _ count: UInt64) -> BackingObject? {
        if id == .root { return nil }
        return state.withLock { state in
            guard var slot = state.slots[id] else { return nil }
            slot.lookupCount -= min(slot.lookupCount, count)
            if slot.lookupCount > 0 {
                state.slots[id] = slot
                return nil
            }
            state.slots[id] = nil
            let key = slot.node.object.key
            if var others = state.others[key] {
                if state.ids[key] == id { state.ids[key] = others.removeFirst() } else { others.removeAll { $0 == id } }
                state.others[key] = others.isEmpty ? nil : others
                // Still known by another.
                return nil
            }
            state.ids[key] = nil
            return slot.node.object
        }
    }

    /// All that the kernel knows now, the root among them.
    var all: [Node] { state.withLock { [root] + $0.slots.values.map { $0.node } } }

    var count: Int { state.withLock { $0.slots.count } }
}
