import LinuxSystem
import Testing

@Suite("hashing of numbers")
struct NumberHashTests {
    @Test("numbers that count up by any power of two are spread over a table", arguments: [0, 1, 3, 12, 32, 48])
    func spreads(shift: Int) {
        for seed in [0, 1, 0x7F3A_5C00_1230] {
            let buckets = Set((UInt64(0)..<4096).map { NumberHash.spread($0 << UInt64(shift), seed: seed) & 4095 })
            // As many as by chance: 1 - 1/e of them.
            #expect(buckets.count > 2400, "shift \(shift), seed \(seed): \(buckets.count)")
        }
    }

    @Test("another table, another order")
    func isSeeded() {
        let orders = Set((0..<64).map { NumberHash.spread(7, seed: $0 << 4) & 4095 })
        #expect(orders.count > 48)
    }
}
