import FuseSession

/// What an exposed entry leads to.
struct NamedChild {
    var node: Node
    /// The object is on another mount than its directory. The directory's ctime then does not tell when the entry changes.
    var isOnOtherMount: Bool
}

/// The entries that are exposed in the present epoch, in that order. They are kept to be invalidated singly where a bump would
/// detach a mount (docs/internals/coherence.md "The price of a bump"). One array of bytes: an entry costs its length and 17 bytes.
struct ExposedEntries: Sendable {
    struct Name: Sendable {
        var parent: NodeID
        /// nil if the kernel was told that the name does not exist.
        var child: NodeID?
        /// Ends in NUL.
        var bytes: [CChar]
    }

    /// Bytes: a few hundred thousand entries. At this size a bump makes room.
    static let capacity = 16 << 20

    private var bytes: [UInt8] = []

    /// The size in bytes up to which all entries can be invalidated singly in a fraction of a second. A revocation before that is done
    /// sends a bump.
    static let shortSize = 2 << 20

    var isShort: Bool { bytes.count <= Self.shortSize }
    var isEmpty: Bool { bytes.isEmpty }
    /// Bytes.
    var size: Int { bytes.count }
    var isFull: Bool { bytes.count >= Self.capacity }

    mutating func append(_ name: UnsafePointer<CChar>, _ child: NodeID?, in parent: NodeID) {
        withUnsafeBytes(of: (parent.rawValue, child?.rawValue ?? 0)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: name.bytes)
        bytes.append(0)
    }

    mutating func append(_ others: ExposedEntries) { bytes.append(contentsOf: others.bytes) }

    /// Up to this size it takes some milliseconds to leave out repeated entries.
    static let mostToCompact = 4 * shortSize

    /// The same entries, each once, without those that the kernel cannot hold any more, and without the absence of a name that was exposed
    /// later.
    /// - Parameter isKnown: whether the kernel knows a node. An entry holds both its nodes.
    func compacted(_ isKnown: (NodeID) -> Bool) -> ExposedEntries {
        var result = ExposedEntries()
        result.bytes.reserveCapacity(min(bytes.count, Self.shortSize))
        bytes.withUnsafeBytes { bytes in
            var table = EntryTable(for: bytes)
            // From the end, so that the last entry of a name is met first.
            for start in Self.starts(in: bytes).reversed() {
                let (parent, child) = Self.nodes(in: bytes, at: start)
                guard isKnown(parent), child.map(isKnown) ?? true, table.insert(start) else { continue }
                result.bytes.append(contentsOf: bytes[start..<Self.end(in: bytes, from: start)])
            }
        }
        return result
    }

    /// Replaces the oldest entries.
    /// - Parameter size: of the oldest entries, in bytes.
    mutating func replaceOldest(_ size: Int, by others: ExposedEntries) { bytes.replaceSubrange(..<size, with: others.bytes) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.count < 1 << 16) }

    /// Calls `body` for each entry.
    func forEach(_ body: (Name) -> Void) {
        bytes.withUnsafeBytes { bytes in
            for start in Self.starts(in: bytes) {
                let (parent, child) = Self.nodes(in: bytes, at: start)
                let name = bytes[(start + Self.nodesSize)..<Self.end(in: bytes, from: start)]
                body(Name(parent: parent, child: child, bytes: name.map { CChar(bitPattern: $0) }))
            }
        }
    }

    private static let nodesSize = 16

    private static func starts(in bytes: UnsafeRawBufferPointer) -> [Int] {
        var (starts, start) = ([Int](), 0)
        while start < bytes.count {
            starts.append(start)
            start = end(in: bytes, from: start)
        }
        return starts
    }

    private static func nodes(in bytes: UnsafeRawBufferPointer, at start: Int) -> (parent: NodeID, child: NodeID?) {
        let parent = bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
        let child = bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self)
        return (NodeID(parent), child == 0 ? nil : NodeID(child))
    }

    /// Behind the NUL of an entry's name.
    private static func end(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var end = start + nodesSize
        while bytes[end] != 0 { end += 1 }
        return end + 1
    }

    /// Finds an entry that repeats another one. It keeps the places of entries, and no copies.
    private struct EntryTable {
        /// The last entry of each name, and the last of each name and object: one name can have led to any number of objects.
        private var names: PlaceTable
        private var children: PlaceTable
        private let bytes: UnsafeRawBufferPointer

        init(for bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
            names = PlaceTable(for: bytes)
            children = PlaceTable(for: bytes)
        }

        /// Adds an entry. The absence of a name repeats any entry of that name.
        /// - Returns: false if it repeats one.
        mutating func insert(_ start: Int) -> Bool {
            let isNew = names.insert(start, withChild: false)
            let (_, child) = ExposedEntries.nodes(in: bytes, at: start)
            return child == nil ? isNew : children.insert(start, withChild: true)
        }
    }

    private struct PlaceTable {
        private let bytes: UnsafeRawBufferPointer
        /// A place plus one; 0 is free.
        private var places: [UInt32]

        init(for bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
            // An entry has 18 bytes at least, so less than half is used.
            var count = 64
            while count < bytes.count / 8 { count *= 2 }
            places = Array(repeating: 0, count: count)
        }

        /// - Parameter withChild: whether entries of one name that lead to two objects are two.
        /// - Returns: false if an equal entry is there.
        mutating func insert(_ start: Int, withChild: Bool) -> Bool {
            let key = key(start, withChild)
            // With the key of this process: callers choose names, and may not choose places.
            var hasher = Hasher()
            hasher.combine(bytes: key.nodes)
            hasher.combine(bytes: key.name)
            var index = hasher.finalize() & (places.count - 1)
            while places[index] != 0 {
                let other = self.key(Int(places[index]) - 1, withChild)
                if other.nodes.elementsEqual(key.nodes), other.name.elementsEqual(key.name) { return false }
                index = (index + 1) & (places.count - 1)
            }
            places[index] = UInt32(start + 1)
            return true
        }

        private func key(_ start: Int, _ withChild: Bool) -> (nodes: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer) {
            let name = start + ExposedEntries.nodesSize
            return (
                UnsafeRawBufferPointer(rebasing: bytes[start..<(withChild ? name : name - 8)]),
                UnsafeRawBufferPointer(rebasing: bytes[name..<ExposedEntries.end(in: bytes, from: start)])
            )
        }
    }
}
