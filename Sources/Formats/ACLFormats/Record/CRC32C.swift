/// CRC-32C (Castagnoli): it detects every error of up to three bits in a record, and every burst of 32.
///
/// It takes eight bytes at a time. The sum is linear, so a table gives the contribution of each byte.
struct CRC32C {
    private var state: UInt32 = ~0
    var value: UInt32 { ~state }

    mutating func update(_ bytes: RawSpan, in range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "a sum of bytes that are not there")
        let state = state
        self.state = Self.tables.withUnsafeBufferPointer { tables in
            bytes.withUnsafeBytes { bytes in
                var (state, offset) = (state, range.lowerBound)
                while range.upperBound - offset >= 8 {
                    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                    state = Self.sum(word ^ UInt64(state), tables)
                    offset += 8
                }
                while offset < range.upperBound {
                    state = Self.next(state, bytes[offset], tables)
                    offset += 1
                }
                return state
            }
        }
    }

    mutating func updateZeros(_ count: Int) {
        let state = state
        self.state = Self.tables.withUnsafeBufferPointer { tables in
            (0..<count).reduce(state) { state, _ in Self.next(state, 0, tables) }
        }
    }

    @inline(__always)
    private static func next(_ state: UInt32, _ byte: UInt8, _ tables: UnsafeBufferPointer<UInt32>) -> UInt32 {
        tables[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8
    }

    /// Seven bytes follow the first byte, none the last.
    @inline(__always)
    private static func sum(_ word: UInt64, _ tables: UnsafeBufferPointer<UInt32>) -> UInt32 {
        func part(_ byte: Int) -> UInt32 {
            tables[(7 - byte) << 8 | Int(UInt8(truncatingIfNeeded: word >> UInt64(8 * byte)))]
        }
        return (part(0) ^ part(1)) ^ (part(2) ^ part(3)) ^ (part(4) ^ part(5)) ^ (part(6) ^ part(7))
    }

    /// Eight tables: the contribution of a byte, and its contribution after one to seven more bytes.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = (0..<256).map { byte in
            (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
        }
        for index in 256..<8 * 256 {
            let before = tables[index - 256]
            tables.append(tables[Int(UInt8(truncatingIfNeeded: before))] ^ before >> 8)
        }
        return tables
    }()
}
