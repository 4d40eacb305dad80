import BackingStore
import LinuxSystem

// Where names are being changed on a spare thread nothing may look for them (docs/decisions/0020-held-files.md "Names").

extension ObjectLoader {
    /// Before names of a directory are looked for, listed or changed, with the metadata lock in hand.
    func requireOpenGate(of directory: BackingObject) throws(Errno) {
        if share.held.gates.isClosed(.directory(directory.key)), !ThreadMark.isSet { throw .nameHeld }
    }

    /// Before a directory itself is moved or removed, and before something is moved from one directory to another.
    func requireOpen(_ gate: NameGates.Gate) throws(Errno) {
        if share.held.gates.isClosed(gate), !ThreadMark.isSet { throw .nameHeld }
    }

    /// Before an object is loaded by its node. A directory is opened by its handle, for which the kernel may look for its name in
    /// the directory above; and of a file on a confined mount it is asked which of its names it still has.
    func requireNoGateAbove(_ node: Node) throws(Errno) {
        let gates = share.held.gates
        guard gates.changesInFlight > 0 else { return }
        let hasGates = ActMark.current?.hasGates == true
        guard gates.changesInFlight > (hasGates ? 1 : 0) else { return }
        let isInTheWay: Bool
        if node.isDirectory {
            isInTheWay = tree.atHand(node.object) == nil
        } else {
            let names = view?.locations.withLock { $0[node.id]?.names } ?? []
            isInTheWay = names.contains { name in
                tree.atHand(name.parent) == nil || !hasGates && gates.isClosed(.directory(name.parent.key))
            }
        }
        if isInTheWay { throw ThreadMark.isSet ? .held : .nameHeld }
    }
}
