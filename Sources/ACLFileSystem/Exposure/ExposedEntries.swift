import FuseSession

/// What an exposed entry leads to.
struct NamedChild {
    var node: Node
    /// The object is on another mount than its directory. The directory's ctime then does not tell when the entry changes.
    var isOnOtherMount: Bool
}

/// The entries that are exposed in the present epoch, in that order. They are kept to be invalidated singly where a bump would
/// detach a mount (docs/coherence.md "The price of a bump"). One array of bytes: an entry costs its length and 17 bytes.
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
        var count = 0
        while name[count] != 0 { count += 1 }
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: name, count: count + 1))
    }

    mutating func append(_ others: ExposedEntries) { bytes.append(contentsOf: others.bytes) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.count < 1 << 16) }

    /// Calls `body` for each entry.
    func forEach(_ body: (Name) -> Void) {
        var start = 0
        while start < bytes.count {
            let (parent, child) = bytes.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self)
                )
            }
            start += 16
            var name: [CChar] = []
            while bytes[start] != 0 {
                name.append(CChar(bitPattern: bytes[start]))
                start += 1
            }
            start += 1
            name.append(0)
            body(Name(parent: NodeID(parent), child: child == 0 ? nil : NodeID(child), bytes: name))
        }
    }
}
