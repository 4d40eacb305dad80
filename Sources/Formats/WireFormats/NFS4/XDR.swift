/// Reads numbers and bytes of External Data Representation (RFC 4506): big-endian words of 4 bytes.
struct XDRReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes that are not read yet.
    var left: Int { bytes.count - position }

    mutating func word() throws(NFS4Error.Problem) -> UInt32 {
        if left < 4 { throw .truncated(needed: 4, left: left) }
        var word: UInt32 = 0
        for byte in bytes[position..<position + 4] { word = word << 8 | UInt32(byte) }
        position += 4
        return word
    }

    /// Bytes after their count, filled up to a whole word with zeros.
    mutating func counted() throws(NFS4Error.Problem) -> [UInt8] {
        let count = try word()
        // Compared before any arithmetic: the count is the caller's.
        if UInt64(count) > UInt64(left) { throw .truncated(needed: count, left: left) }
        let end = position + Int(count)
        let padded = end + (4 - Int(count) % 4) % 4
        if padded > bytes.count { throw .truncated(needed: UInt32(padded - position), left: left) }
        if bytes[end..<padded].contains(where: { $0 != 0 }) { throw .padding }
        defer { position = padded }
        return Array(bytes[position..<end])
    }
}

/// Writes what `XDRReader` reads.
struct XDRWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ word: UInt32) {
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }

    mutating func add(counted value: [UInt8]) {
        add(UInt32(value.count))
        bytes += value
        while bytes.count % 4 != 0 { bytes.append(0) }
    }
}
