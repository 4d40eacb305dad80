import TestSupport
import Testing

@testable import ACLFileSystem

/// Parts of a file against a set of its bytes.
struct ByteRangesTests {
    private func free(_ taken: Set<UInt64>, in range: Range<UInt64>) -> Range<UInt64>? {
        guard let start = range.first(where: { !taken.contains($0) }) else { return nil }
        let end = (start..<range.upperBound).first { taken.contains($0) } ?? range.upperBound
        return start..<end
    }

    @Test func findsWhatIsFreeAsASetDoes() {
        var random = SplitMix64(seed: 20_261_122)
        for _ in 0..<200 {
            var ranges = ByteRanges()
            var taken: Set<UInt64> = []
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let start = UInt64.random(in: 0..<40, using: &random)
                let range = start..<start + UInt64.random(in: 0..<8, using: &random)
                if Bool.random(using: &random) {
                    ranges.add(range)
                    taken.formUnion(range)
                } else {
                    ranges.cut(at: range.upperBound)
                    taken = taken.filter { $0 < range.upperBound }
                }
            }
            for start in UInt64(0)...48 {
                // Nothing is free in a range of nothing: whoever goes on behind what was found would go on for ever.
                let wrong = (start...48).first { ranges.firstFree(in: start..<$0) != free(taken, in: start..<$0) }
                #expect(wrong == nil, "\(ranges.ranges) from \(start)")
            }
        }
    }
}
