import Authorization
import BackingStore
import Glibc
import LinuxSystem

/// What a process has left that died: its tables, the descriptor of its connection, and what it had begun.
public struct LeftByDeath: Sendable {
    /// Of the memory file.
    public static let name = LiveLayout.name
    public var device: Int32
    public var tables: SavedTables
    var acts: [UInt64: InheritedAct] = [:]
    /// Requests that came again, with how many processes have died with them in hand.
    var repeats: [UInt64: UInt64] = [:]
    /// The requests that handles were made for.
    var creators: [UInt64: UInt64] = [:]

    /// Reads the memory file. Nothing of it is believed.
    /// - Parameter descriptor: of the memory file; it is not closed.
    /// - Throws: it is damaged, of another version, or does not have all that is needed.
    public init(from descriptor: Int32) throws(SavedProblem) {
        let reader = Reader(descriptor)
        let head = try reader.bytes(at: 0, LiveLayout.fixed)
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type = Number.self) -> Number { Reader.number(head, offset) }
        guard head.starts(with: LiveLayout.magic.utf8) else { throw .isCut }
        let version: UInt32 = number(LiveLayout.version)
        guard version == SavedTables.version else {
            throw SavedProblem("the daemon left tables of version \(version), and this program understands \(SavedTables.version)")
        }
        guard number(LiveLayout.isIncomplete, UInt64.self) == 0 else {
            throw SavedProblem("the daemon could not keep all that another one has to know")
        }
        let count = Int(number(LiveLayout.fixedCount, UInt32.self))
        guard count <= LiveLayout.intents - LiveLayout.fixed else { throw .isCut }
        let fixed = try reader.bytes(at: LiveLayout.fixed, count)
        guard LiveLayout.sum(fixed) == number(LiveLayout.fixedSum) else { throw .isCut }
        device = number(LiveLayout.device)
        guard device > 2 else { throw .isCut }
        var tables = try SavedTables(fixed)
        tables.nextNode = number(LiveLayout.nextNode)
        tables.nextHandle = number(LiveLayout.nextHandle)
        // The kernel numbers them from 1 on, and takes the smallest that is free.
        guard let largest = Int32(exactly: number(LiveLayout.largestBackingID, UInt64.self)), largest < 1 << 24 else { throw .isCut }
        tables.backingIDs = largest > 0 ? Array(1...largest) : []
        self.tables = tables
        try readNodes(reader, number(LiveLayout.highNode))
        try readHandles(reader, number(LiveLayout.highHandle))
        try readActs(reader)
        let bytes = try reader.bytes(at: LiveLayout.repeats, LiveLayout.mostRepeats * LiveLayout.repeatSize)
        for at in stride(from: 0, to: bytes.count, by: LiveLayout.repeatSize) where Reader.number(bytes, at, UInt64.self) != 0 {
            repeats[Reader.number(bytes, at)] = Reader.number(bytes, at + 8)
        }
        // As of any tables: what they say of each other.
        self.tables = try SavedTables(self.tables.bytes)
    }

    private mutating func readNodes(_ reader: Reader, _ used: UInt64) throws(SavedProblem) {
        try reader.forEachSlot(at: LiveLayout.nodes, used, most: LiveLayout.mostNodes) { (id, slot) throws(SavedProblem) in
            let count: UInt8 = Reader.number(slot, LiveLayout.Node.handleCount)
            var handle: FileHandle?
            if count != LiveLayout.noHandle {
                let end = LiveLayout.Node.handle + Int(count)
                guard end <= slot.count else { throw .isCut }
                handle = FileHandle(type: Reader.number(slot, LiveLayout.Node.handleType), bytes: Array(slot[LiveLayout.Node.handle..<end]))
            }
            guard let kind = ObjectKind(rawValue: Reader.number(slot, LiveLayout.Node.kind)) else { throw .isCut }
            tables.nodes.append(
                SavedNode(
                    id: id, lookups: Reader.number(slot, LiveLayout.Node.lookups),
                    object: SavedObject(
                        inode: Reader.number(slot, LiveLayout.Node.inode), handle: handle, kind: kind,
                        descriptor: Reader.number(slot, LiveLayout.Node.descriptor),
                        isOvermounted: Reader.number(slot, LiveLayout.Node.isOvermounted, UInt8.self) != 0, hasLostNames: false),
                    // Which were marked is not noted: a stale reply could restore the entry of any (R7).
                    isMarked: kind == .directory, collidingCookies: []))
        }
    }

    private mutating func readHandles(_ reader: Reader, _ used: UInt64) throws(SavedProblem) {
        try reader.forEachSlot(at: LiveLayout.handles, used, most: LiveLayout.mostHandles) { (id, slot) throws(SavedProblem) in
            let flags: UInt8 = Reader.number(slot, LiveLayout.Handle.flags)
            let node: UInt64 = Reader.number(slot, LiveLayout.Handle.node)
            let (user, payer): (UInt32, UInt32) = (
                Reader.number(slot, LiveLayout.Handle.user), Reader.number(slot, LiveLayout.Handle.payer)
            )
            let place: Int32 = Reader.number(slot, LiveLayout.Handle.pathDescriptor)
            let creator: UInt64 = Reader.number(slot, LiveLayout.Handle.creator)
            if creator != 0 { creators[creator] = id }
            guard flags & 1 != 0 else {
                let none = SavedCookie(position: 0, cookie: 0)
                tables.directories.append(
                    SavedDirectory(
                        id: id, node: node, descriptor: place, user: user, payer: payer, wasListedBefore: flags & 2 != 0, last: none,
                        second: none, numbered: []))
                return
            }
            tables.files.append(
                SavedFile(
                    id: id, node: node, pathDescriptor: place, descriptor: Reader.number(slot, LiveLayout.Handle.descriptor),
                    mode: Reader.number(slot, LiveLayout.Handle.mode), isHandedOver: flags & 2 != 0,
                    durability: Reader.number(slot, LiveLayout.Handle.durability), user: user, payer: payer,
                    path: SavedPath(
                        kind: Reader.number(slot, LiveLayout.Handle.pathKind),
                        backingID: Reader.number(slot, LiveLayout.Handle.backingID), isMappable: flags & 8 != 0,
                        readsDirectly: flags & 16 != 0, writesDirectly: flags & 32 != 0, mustKeepNoPages: flags & 64 != 0),
                    isCounted: flags & 4 != 0))
        }
        var counted: [UInt64: SavedWritableFile] = [:]
        for file in tables.files where file.isCounted {
            // Gaps from before are not filled any more: they stay holes, and read as zero. What follows counts from the size of now.
            let size = (try? Syscall.statx(file.pathDescriptor).size) ?? 0
            var known =
                counted[file.node]
                ?? SavedWritableFile(
                    node: file.node, opens: 1, closes: 0, hasGaps: false,
                    gaps: SavedGaps(oldEnd: size, examinedEnd: size, closedEnd: 0, excluded: [], failed: nil), isRootOnly: true,
                    spendsRootReserve: false, user: 0, largestWritten: nil, budget: nil)
            if file.user != 0 { (known.isRootOnly, known.user) = (false, file.payer) }
            counted[file.node] = known
        }
        tables.writableFiles = Array(counted.values)
    }

    private mutating func readActs(_ reader: Reader) throws(SavedProblem) {
        let bytes = try reader.bytes(at: LiveLayout.intents, LiveLayout.mostIntents * LiveLayout.intentSize)
        for at in stride(from: 0, to: bytes.count, by: LiveLayout.intentSize) {
            let request: UInt64 = Reader.number(bytes, at)
            // What the last process has noted is newer than what that one has kept.
            guard request != 0, request != LiveLayout.taken, acts[request] == nil else { continue }
            acts[request] = InheritedAct(
                isDone: Reader.number(bytes, at + LiveLayout.Intent.done) == request,
                before: Reader.number(bytes, at + LiveLayout.Intent.before))
        }
    }

    private struct Reader {
        let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        static func number<Number: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, _: Number.Type = Number.self) -> Number {
            Number(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) })
        }

        func bytes(at offset: Int, _ count: Int) throws(SavedProblem) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            var filled = 0
            while filled < count {
                let got = bytes.withUnsafeMutableBytes { buffer in
                    try? Syscall.pread(
                        descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), offset: Int64(offset + filled))
                }
                guard let got, got > 0 else { throw .isCut }
                filled += got
            }
            return bytes
        }

        func forEachSlot(
            at start: Int, _ used: UInt64, most: Int, _ body: (UInt64, [UInt8]) throws(SavedProblem) -> Void
        ) throws(SavedProblem) {
            guard used <= UInt64(most) else { throw .isCut }
            for first in stride(from: 0, to: Int(used), by: LiveLayout.step) {
                let count = min(LiveLayout.step, Int(used) - first)
                let bytes = try bytes(at: start + first * LiveLayout.slot, count * LiveLayout.slot)
                for at in stride(from: 0, to: bytes.count, by: LiveLayout.slot) {
                    let id: UInt64 = Self.number(bytes, at)
                    if id != 0 { try body(id, Array(bytes[at..<at + LiveLayout.slot])) }
                }
            }
        }
    }
}
