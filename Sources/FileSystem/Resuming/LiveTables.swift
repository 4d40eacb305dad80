import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import Synchronization

/// The tables of a mount in a memory file that outlives the process: up to date before each reply, so that after a death another process can
/// serve the same connection (docs/decisions/0043-a-death-nobody-notices.md).
///
/// Nodes and handles have slots of one size. A slot counts when its number is stored, last; a count can only be too high. What the file cannot
/// hold makes it incomplete: then the mount is made anew after a death.
// Unchecked: the addresses never change. Slots of nodes are written under the lock of `NodeTable`, those of handles under that of `OpenFiles`.
final class LiveTables: @unchecked Sendable {
    let memory: SharedDescriptor
    private let base: UnsafeMutableRawPointer
    private var nodes = Slots(at: LiveLayout.nodes, most: LiveLayout.mostNodes)
    private var handles = Slots(at: LiveLayout.handles, most: LiveLayout.mostHandles)

    /// Slots of one kind.
    private struct Slots {
        let start: Int
        let most: Int
        var free: [Int32] = []
        /// The number of slots that were ever used, and of those that the file has room for.
        var used = 0
        var allocated = 0

        init(at start: Int, most: Int) { (self.start, self.most) = (start, most) }
    }

    /// - Parameters:
    ///   - device: the descriptor of the connection.
    ///   - tables: with what never changes, and no nodes and handles yet.
    /// - Throws: there is no memory for it.
    init(device: Int32, _ tables: SavedTables) throws(Errno) {
        memory = try Syscall.memoryFile(LiveLayout.name)
        try Syscall.ftruncate(memory.rawValue, size: Int64(LiveLayout.size))
        let fixed = tables.bytes
        guard fixed.count <= LiveLayout.intents - LiveLayout.fixed else { throw .fbig }
        let address = mmap(nil, LiveLayout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory.rawValue, 0)
        guard let address, address != MAP_FAILED else { throw Errno(rawValue: errno) }
        base = address
        // A page that there is no memory for would end this process.
        try Syscall.fallocate(memory.rawValue, mode: 0, offset: 0, length: Int64(LiveLayout.nodes))
        base.copyMemory(from: Array(LiveLayout.magic.utf8), byteCount: 8)
        store(SavedTables.version, at: LiveLayout.version)
        store(device, at: LiveLayout.device)
        store(UInt32(fixed.count), at: LiveLayout.fixedCount)
        store(LiveLayout.sum(fixed), at: LiveLayout.fixedSum)
        (base + LiveLayout.fixed).copyMemory(from: fixed, byteCount: fixed.count)
        note(nextNode: tables.nextNode)
        note(nextHandle: tables.nextHandle)
    }

    deinit { munmap(base, LiveLayout.size) }

    private func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        (base + offset).storeBytes(of: number.littleEndian, as: Number.self)
    }

    /// A word that another process may see at any moment.
    private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func publish(_ number: UInt64, at offset: Int) { word(offset).pointee.store(number, ordering: .releasing) }

    // MARK: Words

    func note(nextNode: UInt64) { publish(nextNode, at: LiveLayout.nextNode) }
    func note(nextHandle: UInt64) { publish(nextHandle, at: LiveLayout.nextHandle) }

    /// Notes an id that the kernel holds; the largest one counts.
    func note(backingID: Int32) {
        _ = word(LiveLayout.largestBackingID).pointee.max(UInt64(clamping: backingID), ordering: .relaxed)
    }

    /// From now on a death needs a new mount.
    func giveUp() { publish(1, at: LiveLayout.isIncomplete) }

    // MARK: Slots

    /// - Returns: the slot, which is not in use; nil if there is none.
    private func take(_ slots: inout Slots, _ high: Int) -> Int32? {
        if let free = slots.free.popLast() { return free }
        guard slots.used < slots.most else {
            giveUp()
            return nil
        }
        if slots.used == slots.allocated {
            let count = min(LiveLayout.step, slots.most - slots.allocated)
            let start = slots.start + slots.allocated * LiveLayout.slot
            guard (try? Syscall.fallocate(memory.rawValue, mode: 0, offset: Int64(start), length: Int64(count * LiveLayout.slot))) != nil
            else {
                giveUp()
                return nil
            }
            slots.allocated += count
        }
        slots.used += 1
        publish(UInt64(slots.used), at: high)
        return Int32(slots.used - 1)
    }

    /// Notes a node, with its first look-ups.
    /// - Parameter descriptor: as of `SavedObject`; nil: another process could not find the object.
    /// - Returns: the slot; -1: none.
    func add(node id: UInt64, lookups: UInt64, _ object: BackingObject, _ descriptor: Int32?) -> Int32 {
        guard let descriptor, object.key.handle.map({ $0.count <= LiveLayout.mostHandleBytes }) ?? true,
            let slot = take(&nodes, LiveLayout.highNode)
        else {
            giveUp()
            return -1
        }
        let at = LiveLayout.nodes + Int(slot) * LiveLayout.slot
        store(lookups, at: at + LiveLayout.Node.lookups)
        store(object.key.inode, at: at + LiveLayout.Node.inode)
        store(descriptor, at: at + LiveLayout.Node.descriptor)
        store(object.kind.rawValue, at: at + LiveLayout.Node.kind)
        store(UInt8(object.isOvermounted.load(ordering: .relaxed) ? 1 : 0), at: at + LiveLayout.Node.isOvermounted)
        if let handle = object.key.handle {
            store(UInt8(handle.count), at: at + LiveLayout.Node.handleCount)
            store(handle.type, at: at + LiveLayout.Node.handleType)
            handle.withBytes { bytes in
                if let start = bytes.baseAddress { (base + at + LiveLayout.Node.handle).copyMemory(from: start, byteCount: bytes.count) }
            }
        } else {
            store(LiveLayout.noHandle, at: at + LiveLayout.Node.handleCount)
        }
        publish(id, at: at)
        return slot
    }

    func note(lookups: UInt64, ofNodeAt slot: Int32) {
        if slot >= 0 { publish(lookups, at: LiveLayout.nodes + Int(slot) * LiveLayout.slot + LiveLayout.Node.lookups) }
    }

    func remove(nodeAt slot: Int32) {
        if slot < 0 { return }
        publish(0, at: LiveLayout.nodes + Int(slot) * LiveLayout.slot)
        nodes.free.append(slot)
    }

    /// - Returns: the slot; -1: none.
    func add(_ file: SavedFile, creator: UInt64) -> Int32 {
        guard let slot = take(&handles, LiveLayout.highHandle) else { return -1 }
        let at = LiveLayout.handles + Int(slot) * LiveLayout.slot
        for (number, offset) in [(file.node, LiveLayout.Handle.node), (creator, LiveLayout.Handle.creator)] {
            store(number, at: at + offset)
        }
        store(file.pathDescriptor, at: at + LiveLayout.Handle.pathDescriptor)
        store(file.descriptor, at: at + LiveLayout.Handle.descriptor)
        store(file.path.backingID, at: at + LiveLayout.Handle.backingID)
        store(file.user, at: at + LiveLayout.Handle.user)
        store(file.payer, at: at + LiveLayout.Handle.payer)
        store(file.mode, at: at + LiveLayout.Handle.mode)
        store(file.durability, at: at + LiveLayout.Handle.durability)
        store(file.path.kind, at: at + LiveLayout.Handle.pathKind)
        var flags: UInt8 = 1
        if file.isHandedOver { flags |= 2 }
        if file.isCounted { flags |= 4 }
        if file.path.isMappable { flags |= 8 }
        if file.path.readsDirectly { flags |= 16 }
        if file.path.writesDirectly { flags |= 32 }
        if file.path.mustKeepNoPages { flags |= 64 }
        store(flags, at: at + LiveLayout.Handle.flags)
        publish(file.id, at: at)
        return slot
    }

    /// - Returns: the slot; -1: none.
    func add(directory id: UInt64, node: UInt64, _ descriptor: Int32, user: UInt32, payer: UInt32, wasListedBefore: Bool, creator: UInt64)
        -> Int32
    {
        guard let slot = take(&handles, LiveLayout.highHandle) else { return -1 }
        let at = LiveLayout.handles + Int(slot) * LiveLayout.slot
        store(node, at: at + LiveLayout.Handle.node)
        store(creator, at: at + LiveLayout.Handle.creator)
        store(descriptor, at: at + LiveLayout.Handle.pathDescriptor)
        store(user, at: at + LiveLayout.Handle.user)
        store(payer, at: at + LiveLayout.Handle.payer)
        store(UInt8(wasListedBefore ? 2 : 0), at: at + LiveLayout.Handle.flags)
        publish(id, at: at)
        return slot
    }

    func remove(handleAt slot: Int32) {
        if slot < 0 { return }
        publish(0, at: LiveLayout.handles + Int(slot) * LiveLayout.slot)
        handles.free.append(slot)
    }

    // MARK: Acts

    /// Notes that a request has begun an act that would not be the same a second time; it was authorised.
    /// - Parameters:
    ///   - request: the request's number. Its note stays until `answered`.
    ///   - before: what tells whether the act was done.
    func begin(_ request: UInt64, before: UInt64 = 0) {
        let first = Self.place(request)
        // With more requests in hand than there are places one note is lost: its request is judged anew.
        var at = Self.note(first)
        for step in 0..<LiveLayout.mostProbes {
            let next = Self.note(first + step)
            let found = word(next).pointee.load(ordering: .relaxed)
            guard found == 0 || found == request else { continue }
            at = next
            guard found == 0 else { break }
            if word(next).pointee.compareExchange(expected: 0, desired: LiveLayout.taken, ordering: .acquiringAndReleasing).exchanged {
                break
            }
        }
        publish(0, at: at + LiveLayout.Intent.done)
        publish(before, at: at + LiveLayout.Intent.before)
        publish(request, at: at)
    }

    func end(_ request: UInt64, isDone: Bool) {
        guard let at = find(request) else { return }
        if isDone { publish(request, at: at + LiveLayout.Intent.done) } else { publish(0, at: at) }
    }

    /// The kernel has the answer.
    func answered(_ request: UInt64) {
        if let at = find(request) { publish(0, at: at) }
    }

    /// Notes that this process begins a request that came again.
    /// - Parameter deaths: how many processes have died with it in hand.
    func note(repeated request: UInt64, deaths: UInt64) {
        let at = LiveLayout.repeats + Int(truncatingIfNeeded: request / 2 % UInt64(LiveLayout.mostRepeats)) * LiveLayout.repeatSize
        publish(0, at: at)
        publish(deaths, at: at + 8)
        publish(request, at: at)
    }

    private func find(_ request: UInt64) -> Int? {
        let first = Self.place(request)
        for step in 0..<LiveLayout.mostProbes {
            let at = Self.note(first + step)
            if word(at).pointee.load(ordering: .relaxed) == request { return at }
        }
        return nil
    }

    /// The kernel counts requests by two.
    private static func place(_ request: UInt64) -> Int { Int(truncatingIfNeeded: request / 2 % UInt64(LiveLayout.ofRequests)) }
    private static func note(_ place: Int) -> Int { LiveLayout.intents + place % LiveLayout.ofRequests * LiveLayout.intentSize }

    /// Keeps what another process has begun: its request may be in hand when this one dies, too. The newest count.
    func keep(_ acts: [UInt64: InheritedAct]) {
        for (place, (request, act)) in zip(0..., acts.sorted { $0.key > $1.key }.prefix(LiveLayout.mostIntents - LiveLayout.ofRequests)) {
            let at = LiveLayout.intents + (LiveLayout.ofRequests + place) * LiveLayout.intentSize
            store(act.isDone ? request : 0, at: at + LiveLayout.Intent.done)
            store(act.before, at: at + LiveLayout.Intent.before)
            publish(request, at: at)
        }
    }
}

/// Where what is in the memory file. Another build reads it, so nothing moves within a version.
enum LiveLayout {
    static let name = "aclfs-live"
    static let magic = "aclfsliv"
    static let version = 8
    static let device = 12
    static let fixedCount = 16
    static let fixedSum = 20
    static let isIncomplete = 24
    static let nextNode = 32
    static let nextHandle = 40
    static let highNode = 48
    static let highHandle = 56
    static let largestBackingID = 64
    static let fixed = 4096
    static let intents = 1 << 16
    static let mostIntents = 9216
    static let intentSize = 32
    /// Those of requests in hand come first, then those of processes that died before.
    static let ofRequests = 8192
    static let mostProbes = 16
    static let repeats = 1 << 19
    static let mostRepeats = 1024
    static let repeatSize = 16
    /// Of no request.
    static let taken: UInt64 = 1 << 63
    static let nodes = 1 << 20
    static let mostNodes = 1 << 23
    static let slot = 96
    /// Slots for which room is made at a time.
    static let step = 8192
    static let handles = nodes + mostNodes * slot
    static let mostHandles = 1 << 18
    static let size = handles + mostHandles * slot
    static let mostHandleBytes = 56
    static let noHandle: UInt8 = 0xFF

    enum Node {
        static let lookups = 8
        static let inode = 16
        static let descriptor = 24
        static let kind = 28
        static let isOvermounted = 29
        static let handleCount = 30
        static let handleType = 32
        static let handle = 40
    }

    enum Handle {
        static let node = 8
        static let creator = 16
        static let pathDescriptor = 24
        static let descriptor = 28
        static let backingID = 32
        static let user = 36
        static let payer = 40
        static let mode = 44
        static let durability = 45
        static let pathKind = 46
        static let flags = 47
    }

    enum Intent {
        static let done = 8
        static let before = 16
    }

    static func sum(_ bytes: [UInt8]) -> UInt32 { bytes.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 } }
}
