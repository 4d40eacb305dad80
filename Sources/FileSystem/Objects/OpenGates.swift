import BackingStore
import LinuxSystem

// While a spare thread changes names of a directory, no other thread may look them up (docs/decisions/0020-held-files.md "Names").

extension ObjectLoader {
    /// Call it under the metadata lock, before names of a directory are looked up, listed or changed.
    /// - Throws: `nameHeld` if the gate of the directory is closed.
    func requireOpenGate(of directory: BackingObject) throws(Errno) {
        if share.held.gates.isClosed(.directory(directory.key)), !ThreadMark.isSet { throw .nameHeld }
    }

    /// Call it before an object moves from one directory to another.
    /// - Throws: `nameHeld` if the gate is closed.
    func requireOpen(_ gate: NameGates.Gate) throws(Errno) {
        if share.held.gates.isClosed(gate), !ThreadMark.isSet { throw .nameHeld }
    }

    /// Call it before an object is loaded by its node. Opening a directory's file handle may search its parent for the name. For a
    /// file on a confined mount, the loader searches the directories of its names.
    /// - Throws: `nameHeld`, or `held` on a spare thread, if a closed gate may be in the path.
    func requireNoGateAbove(_ node: Node) throws(Errno) {
        let gates = share.held.gates
        guard gates.changesInFlight > 0 else { return }
        let hasGates = ActMark.current?.hasGates == true
        guard gates.changesInFlight > (hasGates ? 1 : 0) else { return }
        let isInTheWay: Bool
        if node.isDirectory {
            isInTheWay = tree.openDescriptor(of: node.object) == nil
        } else {
            let names = view?.locations.withLock { $0[node.id]?.names } ?? []
            isInTheWay = names.contains { name in
                tree.openDescriptor(of: name.parent) == nil || !hasGates && gates.isClosed(.directory(name.parent.key))
            }
        }
        if isInTheWay { throw ThreadMark.isSet ? .held : .nameHeld }
    }
}
