import BackingStore
import LinuxSystem
import Synchronization

/// Directories whose names a spare thread is changing (docs/decisions/0020-held-files.md "Names"). unlink(2), rename(2) and link(2)
/// may sleep with the lock of the backing directory. Operations that need this lock wait here, with a deadline.
final class NameGates: Sendable {
    enum Gate: Hashable {
        case directory(ObjectKey)
        /// Renames between directories: the backing file system runs one at a time.
        case crossing
    }

    private struct State {
        var closed: Set<Gate> = []
        /// How often a gate was opened.
        var openings: UInt64 = 0
        /// The threads that wait for an opening, and those that saw one and have not tried again yet.
        var waiting = 0
        var trying = 0
    }
    /// How long a change waits for operations that waited for the one before it. Changes one after the other would let them wait for all.
    private static let courtesy: UInt64 = 50_000_000

    private let state = Monitor(State())
    private let count = Atomic<Int>(0)

    /// Whether a change of names in this directory is in flight. The answer holds as long as the caller keeps the metadata lock: a
    /// thread that closes a gate takes that lock for writing before it acts.
    func isClosed(_ gate: @autoclosure () -> Gate) -> Bool {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let gate = gate()
        return state.withLock { $0.closed.contains(gate) }
    }

    /// The number of changes of names that are in flight.
    var changesInFlight: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Closes gates.
    /// - Parameter deadline: monotonic nanoseconds.
    /// - Returns: false if one of them was still closed at the deadline.
    func close(_ gates: Set<Gate>, until deadline: UInt64) -> Bool {
        func closeIfOpen(_ state: inout State) -> Bool? {
            guard state.closed.isDisjoint(with: gates) else { return nil }
            state.closed.formUnion(gates)
            return true
        }
        let isDone =
            state.wait(until: min(deadline, SystemTime.monotonic() + Self.courtesy)) { $0.trying > 0 ? nil : closeIfOpen(&$0) }
            ?? state.wait(until: deadline, for: closeIfOpen)
        if isDone == true { count.add(1, ordering: .sequentiallyConsistent) }
        return isDone == true
    }

    func open(_ gates: Set<Gate>) {
        state.withLock { state in
            state.closed.subtract(gates)
            state.openings += 1
            state.trying += state.waiting
            state.waiting = 0
        }
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// The count for `awaitOpening`. Read it before `isClosed`.
    var openings: UInt64 { state.withLock { $0.openings } }

    /// Returns when a gate was opened since `openings` was read, or at `deadline`.
    /// - Parameter deadline: monotonic nanoseconds.
    /// - Returns: whether one was. Then changes of names wait for `endTry`.
    func awaitOpening(since openings: UInt64, until deadline: UInt64) -> Bool {
        state.withLock { state in
            if state.openings == openings { state.waiting += 1 } else { state.trying += 1 }
        }
        _ = state.wait(until: deadline) { $0.openings != openings ? true : nil }
        return state.withLock { state in
            if state.openings == openings { state.waiting -= 1 }
            return state.openings != openings
        }
    }

    /// The caller of `awaitOpening` has tried again.
    func endTry() { state.withLock { $0.trying -= 1 } }
}

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
