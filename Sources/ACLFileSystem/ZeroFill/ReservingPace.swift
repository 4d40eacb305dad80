/// How much of a gap is reserved or given back at a time. Between two pieces close(2) can be interrupted, and whoever opens the
/// file gets his turn; so a piece must not take long. Extents come by the gigabyte in no time, but a file system in memory
/// takes each page on its own.
struct ReservingPace: Sendable {
    static let least: UInt64 = 16 << 20
    static let most: UInt64 = 1 << 30
    /// Past so many gaps in one file, those within a piece of the least size are reserved together, with the data between them.
    static let mostSingleGaps = 64
    /// In nanoseconds: a piece that takes less may be larger, one that takes more is too large.
    static let quick: UInt64 = 20_000_000
    static let slow: UInt64 = 50_000_000

    private(set) var piece: UInt64 = 64 << 20

    /// - Parameters:
    ///   - length: of the piece; the last one of a gap, which is small, says nothing when it was quick.
    ///   - nanoseconds: that it took.
    mutating func record(_ nanoseconds: UInt64, for length: UInt64) {
        if nanoseconds > Self.slow {
            piece = max(piece / 2, Self.least)
        } else if nanoseconds < Self.quick, length >= piece {
            piece = min(piece * 2, Self.most)
        }
    }
}
