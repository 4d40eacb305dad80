/// CRC-32C (Castagnoli): finds every error of up to three bits in a record, and every burst of 32.
struct CRC32C {
    private var state: UInt32 = ~0
    var value: UInt32 { ~state }

    mutating func update(_ bytes: RawSpan, in range: Range<Int>) {
        for offset in range {
            let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8
        }
    }

    mutating func updateZeros(_ count: Int) {
        for _ in 0..<count { state = Self.table[Int(UInt8(truncatingIfNeeded: state))] ^ state >> 8 }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
    }
}
