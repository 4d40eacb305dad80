import FuseSession

/// What a name that is handed out leads to.
struct NamedChild {
    var node: Node
    /// On another mount than its directory, whose ctime then does not tell what the name leads to.
    var isOnOtherMount: Bool
}

/// The names that the kernel may still believe in the present epoch, in the order in which they were given to it.
/// Kept so that they can be taken back one by one where a bump would do harm (docs/coherence.md "The price of a
/// bump"). One run of bytes, so that a name costs its length and eighteen bytes more.
struct ExposedEntries: Sendable {
    struct Name: Sendable {
        var parent: NodeID
        /// nil where the kernel was told that there is no such name.
        var child: NodeID?
        /// Ends in NUL.
        var bytes: [CChar]
    }

    /// 16 MiB of names are a few hundred thousand; then a bump makes room.
    static let capacity = 16 << 20

    private var bytes: [UInt8] = []

    /// When something is mounted below, so many are taken back in a fraction of a second; until then a revocation bumps.
    static let shortness = 1 << 20

    var isShort: Bool { bytes.count <= Self.shortness }
    var isEmpty: Bool { bytes.isEmpty }
    /// In bytes.
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

    /// Calls `body` for each name.
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
