/// Ranges of a file, in order and without overlap.
struct ByteRanges: Sendable {
    /// The most ranges. Beyond it the two nearest become one, so a gap between them may stay a hole.
    static let most = 1024

    private(set) var ranges: [Range<UInt64>] = []

    mutating func add(_ new: Range<UInt64>) {
        guard !new.isEmpty else { return }
        var merged = new
        var result: [Range<UInt64>] = []
        for range in ranges {
            if range.upperBound < merged.lowerBound || merged.upperBound < range.lowerBound {
                result.append(range)
            } else {
                merged = min(range.lowerBound, merged.lowerBound)..<max(range.upperBound, merged.upperBound)
            }
        }
        result.append(merged)
        ranges = result.sorted { $0.lowerBound < $1.lowerBound }
        if ranges.count > ByteRanges.most { joinNearest() }
    }

    private mutating func joinNearest() {
        let distances = zip(ranges, ranges.dropFirst()).map { $1.lowerBound - $0.upperBound }
        guard let least = distances.min(), let index = distances.firstIndex(of: least) else { return }
        ranges[index] = ranges[index].lowerBound..<ranges[index + 1].upperBound
        ranges.remove(at: index + 1)
    }

    /// Removes everything at or past `end`.
    mutating func cut(at end: UInt64) {
        ranges = ranges.compactMap { range in
            range.lowerBound >= end ? nil : range.lowerBound..<min(range.upperBound, end)
        }
    }

    /// The first part of a range that is free of these ranges; nil if there is none.
    func firstFree(in range: Range<UInt64>) -> Range<UInt64>? {
        guard !range.isEmpty else { return nil }
        var start = range.lowerBound
        for taken in ranges where taken.upperBound > start {
            if taken.lowerBound > start { return start..<min(taken.lowerBound, range.upperBound) }
            start = taken.upperBound
            if start >= range.upperBound { return nil }
        }
        return start < range.upperBound ? start..<range.upperBound : nil
    }
}
