import Testing

@testable import ACLFormats

@Suite("the checksum of a record")
struct ChecksumTests {
    /// The definition, bit by bit.
    private func plain(_ bytes: [UInt8]) -> UInt32 {
        var state: UInt32 = ~0
        for byte in bytes {
            state ^= UInt32(byte)
            for _ in 0..<8 { state = state & 1 == 0 ? state >> 1 : state >> 1 ^ 0x82F6_3B78 }
        }
        return ~state
    }

    private let bytes: [UInt8] = (0..<300).map { UInt8(truncatingIfNeeded: $0 * 167 + 13) }

    @Test("published values (RFC 3720, B.4, and the check value of the catalogues)")
    func published() {
        #expect(Checksum.crc32c(Array("123456789".utf8)) == 0xE306_9283)
        #expect(Checksum.crc32c(Array(repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(Checksum.crc32c(Array(repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(Checksum.crc32c(Array(0..<32)) == 0x46DD_794E)
        #expect(Checksum.crc32c(Array((0..<32).reversed())) == 0x113F_DB5C)
        #expect(Checksum.crc32c([]) == 0)
    }

    @Test("every length is what the definition says")
    func lengths() {
        for count in 0...bytes.count { #expect(Checksum.crc32c(Array(bytes[..<count])) == plain(Array(bytes[..<count]))) }
    }

    @Test("in two parts, from any place, with zeros between")
    func parts() {
        for cut in 0..<40 {
            for start in 0..<9 {
                var sum = CRC32C()
                sum.update(bytes.span.bytes, in: start..<start + cut)
                sum.updateZeros(cut % 5)
                sum.update(bytes.span.bytes, in: start + cut..<start + 83)
                var whole = Array(bytes[start..<start + cut])
                whole += Array(repeating: 0, count: cut % 5)
                whole += bytes[start + cut..<start + 83]
                #expect(sum.value == plain(whole))
            }
        }
    }
}
