import Testing

@testable import ACLFileSystem

/// How large the pieces are in which a gap is reserved: none takes long, wherever the file lies.
struct ReservingPaceTests {
    /// The longest piece after the first few, where a mebibyte takes so many microseconds.
    private func settled(microsecondsPerMebibyte: UInt64) -> (piece: UInt64, nanoseconds: UInt64) {
        var pace = ReservingPace()
        for _ in 0..<100 { pace.record((pace.piece >> 20) * microsecondsPerMebibyte * 1000, for: pace.piece) }
        return (pace.piece, (pace.piece >> 20) * microsecondsPerMebibyte * 1000)
    }

    @Test(arguments: [0, 1, 10, 100, 300, 1000, 3000] as [UInt64]) func noPieceTakesLong(_ microseconds: UInt64) {
        let (piece, nanoseconds) = settled(microsecondsPerMebibyte: microseconds)
        #expect(nanoseconds <= 100_000_000)
        #expect(piece >= ReservingPace.least && piece <= ReservingPace.most)
        if microseconds <= 10 { #expect(piece == ReservingPace.most) }
    }

    @Test func theFirstPieceIsNotLargeAndALateOneMayBe() {
        var pace = ReservingPace()
        #expect(pace.piece <= 64 << 20)
        pace.record(1000, for: pace.piece)
        #expect(pace.piece > 64 << 20)
        let grown = pace.piece
        // A small rest that was quick says nothing of large ones.
        pace.record(1000, for: 4096)
        #expect(pace.piece == grown)
        pace.record(200_000_000, for: 4096)
        #expect(pace.piece < grown)
    }
}
