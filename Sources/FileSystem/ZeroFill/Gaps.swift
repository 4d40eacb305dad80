/// The gaps of a file, between its old and its new end: how far they are known, reserved and written (docs/internals/zerofill.md "What is a
/// gap"). Where exactly they are, the file itself says (`Holes`).
struct Gaps {
    /// The end of the file before the first of its writers opened it, or a later truncation. Holes before it are no gaps.
    private(set) var oldEnd: UInt64
    /// All gaps from the old end up to here are reserved.
    private(set) var examinedEnd: UInt64
    /// The end of the file at the last RELEASE. A later extension without a handle makes no gap.
    private(set) var closedEnd: UInt64 = 0
    /// Zeros are written up to here, maybe within a gap.
    private var filled: (end: UInt64, isInGap: Bool) = (0, false)
    /// Ranges that a program punched or reserved itself.
    private(set) var excluded = ByteRanges()
    /// A range of which a part may be reserved although the rest did not fit. The fill releases it after the last close.
    private(set) var failed: Range<UInt64>?
    private var pace = ReservingPace()

    /// - Parameter end: of the file.
    init(end: UInt64 = 0) { (oldEnd, examinedEnd) = (end, end) }

    init(_ saved: SavedGaps) {
        (oldEnd, examinedEnd, closedEnd, failed) = (saved.oldEnd, saved.examinedEnd, saved.closedEnd, saved.failed)
        for range in saved.excluded { excluded.add(range) }
    }

    var saved: SavedGaps {
        SavedGaps(oldEnd: oldEnd, examinedEnd: examinedEnd, closedEnd: closedEnd, excluded: excluded.ranges, failed: failed)
    }

    /// A handle that can write was opened, at this size.
    mutating func reopen(at size: UInt64) {
        oldEnd = min(oldEnd, size)
        examinedEnd = min(examinedEnd, size)
        excluded.cut(at: size)
        filled = (0, false)
    }

    mutating func truncate(to size: UInt64) {
        reopen(at: size)
        closedEnd = min(closedEnd, size)
        failed = failed.flatMap { $0.lowerBound < size ? $0.lowerBound..<min($0.upperBound, size) : nil }
    }

    /// A handle was released, at this size.
    mutating func close(at size: UInt64) { closedEnd = size }

    mutating func exclude(_ range: Range<UInt64>) { excluded.add(range) }

    // MARK: Reserving

    mutating func examine(upTo end: UInt64) { examinedEnd = max(examinedEnd, end) }

    /// How much of a gap to reserve next. Reserved singly, tens of thousands of gaps would hold a close for seconds. Reserving has no effect
    /// on data.
    /// - Parameter part: without a range that is excluded, from before the gap on.
    func piece(of gap: Range<UInt64>, in part: Range<UInt64>) -> Range<UInt64> {
        let single = min(gap.upperBound - gap.lowerBound, pace.piece)
        let length = pace.joinsGaps ? max(single, min(part.upperBound - gap.lowerBound, ReservingPace.least)) : single
        return gap.lowerBound..<gap.lowerBound + length
    }

    /// - Parameter nanoseconds: that it took.
    mutating func reserved(_ piece: Range<UInt64>, in nanoseconds: UInt64) {
        examinedEnd = piece.upperBound
        pace.pieces += 1
        pace.record(nanoseconds, for: piece.upperBound - piece.lowerBound)
    }

    /// The space was not enough for a range.
    mutating func fail(in range: Range<UInt64>) {
        failed = min(range.lowerBound, failed?.lowerBound ?? .max)..<max(range.upperBound, failed?.upperBound ?? 0)
    }

    /// What a close reserves fits, or what did not is released.
    mutating func endFailure() { failed = nil }

    /// Leaves holes from here on.
    mutating func giveUp(from end: UInt64) {
        closedEnd = min(closedEnd, end)
        examinedEnd = min(examinedEnd, end)
    }

    /// How much of a hole in the failed range to release next; nil: none of it.
    func pieceToRelease(of hole: Range<UInt64>) -> Range<UInt64>? {
        excluded.firstFree(in: hole).map { $0.lowerBound..<min($0.upperBound, $0.lowerBound + pace.piece) }
    }

    /// - Parameters:
    ///   - end: nothing is reserved before it.
    ///   - piece: what was released, in so many nanoseconds; nil: nothing.
    mutating func released(upTo end: UInt64, of range: Range<UInt64>, _ piece: (length: UInt64, nanoseconds: UInt64)? = nil) {
        failed = end < range.upperBound ? end..<range.upperBound : nil
        if let piece { pace.record(piece.nanoseconds, for: piece.length) }
    }

    // MARK: Writing

    /// Where zeros may still be missing.
    /// - Parameter size: of the file.
    func unfilled(_ size: UInt64) -> Range<UInt64> {
        let start = max(filled.end, oldEnd)
        return start..<max(start, min(size, examinedEnd))
    }

    /// What comes next in a hole.
    /// - Parameters:
    ///   - hole: the first one of `unfilled`.
    ///   - largest: gaps above it are not written, but the rest of one that was begun is.
    /// - Returns: the next gap, or the hole if it has none, and whether zeros are written there.
    func toWrite(of hole: Range<UInt64>, largest: UInt64) -> (gap: Range<UInt64>, isWritten: Bool) {
        guard let gap = excluded.firstFree(in: hole) else { return (hole, false) }
        let isRest = filled.isInGap && gap.lowerBound == max(filled.end, oldEnd)
        return (gap, isRest || gap.upperBound - gap.lowerBound <= largest)
    }

    mutating func fill(upTo end: UInt64, isInGap: Bool = false) { filled = (end, isInGap) }
}

/// How many bytes are reserved or released at a time. A signal interrupts close(2) only between two pieces, and other opens of the
/// file wait for one piece. Extents of gigabytes take no time; a file system in memory allocates each page.
struct ReservingPace: Sendable {
    static let least: UInt64 = 16 << 20
    static let most: UInt64 = 1 << 30
    /// Beyond this number of gaps in a file, gaps within a piece of the least size are reserved together with the data between
    /// them.
    static let mostSingleGaps = 64
    /// Nanoseconds: after a quicker piece the next is larger, after a slower one smaller.
    static let quick: UInt64 = 20_000_000
    static let slow: UInt64 = 50_000_000

    private(set) var piece: UInt64 = 64 << 20
    /// The number of gaps that were reserved.
    var pieces = 0
    /// Whether the next gaps are reserved together.
    var joinsGaps: Bool { pieces >= Self.mostSingleGaps }

    /// Adapts the size of a piece.
    /// - Parameters:
    ///   - nanoseconds: the time that the piece took.
    ///   - length: the bytes of the piece. A short last piece of a gap never makes the next one larger.
    mutating func record(_ nanoseconds: UInt64, for length: UInt64) {
        if nanoseconds > Self.slow {
            piece = max(piece / 2, Self.least)
        } else if nanoseconds < Self.quick, length >= piece {
            piece = min(piece * 2, Self.most)
        }
    }
}
