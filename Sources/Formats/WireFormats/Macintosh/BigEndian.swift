import Authorization

/// Numbers at places in bytes. Every read states where, and nothing is read outside.
struct BigEndian {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// - Returns: the bytes from a place on; nil if they are not all there.
    func part(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else { return nil }
        return bytes[offset..<(offset + count)]
    }

    func number32(at offset: Int) -> UInt32? { part(at: offset, count: 4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } } }
    func number16(at offset: Int) -> UInt16? { part(at: offset, count: 2).map { $0.reduce(0) { $0 << 8 | UInt16($1) } } }

    func identity(at offset: Int) -> GUID? {
        guard let part = part(at: offset, count: 16) else { return nil }
        let (high, low) = (part.prefix(8), part.suffix(8))
        return GUID(high: high.reduce(0) { $0 << 8 | UInt64($1) }, low: low.reduce(0) { $0 << 8 | UInt64($1) })
    }

    static func bytes(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) } }
    static func bytes(_ identity: GUID) -> [UInt8] {
        [identity.high, identity.low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) } }
    }
}
