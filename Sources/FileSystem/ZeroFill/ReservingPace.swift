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
