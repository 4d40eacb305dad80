import Testing

@testable import ACLFileSystem

/// How far the gaps of a file are known, reserved and written (docs/internals/zerofill.md "What is a gap").
@Suite struct GapsTests {
    private static let mib: UInt64 = 1 << 20

    @Test func aGapAboveTheLimitIsNotWritten() {
        var gaps = Gaps(end: 10)
        gaps.examine(upTo: 100)
        #expect(gaps.unfilled(1000) == 10..<100)
        #expect(gaps.toWrite(of: 10..<60, largest: 50) == (10..<60, true))
        #expect(gaps.toWrite(of: 10..<61, largest: 50) == (10..<61, false))
    }

    /// Otherwise a limit in the middle would leave a part of it reserved.
    @Test func theRestOfAGapThatWasBegunIsWritten() {
        var gaps = Gaps(end: 0)
        gaps.examine(upTo: 100)
        gaps.fill(upTo: 40, isInGap: true)
        #expect(gaps.unfilled(100) == 40..<100)
        #expect(gaps.toWrite(of: 40..<100, largest: 10) == (40..<100, true))
        gaps.fill(upTo: 40)
        #expect(gaps.toWrite(of: 40..<100, largest: 10) == (40..<100, false))
    }

    @Test func whatAProgramHasPunchedIsLeftOut() {
        var gaps = Gaps(end: 0)
        gaps.exclude(0..<30)
        gaps.examine(upTo: 100)
        #expect(gaps.toWrite(of: 0..<100, largest: 100) == (30..<100, true))
        #expect(gaps.toWrite(of: 0..<20, largest: 100) == (0..<20, false))
        #expect(gaps.pieceToRelease(of: 0..<20) == nil)
    }

    @Test func whatDidNotFitIsReleasedAndStaysAHole() {
        var gaps = Gaps(end: 0)
        gaps.close(at: 100)
        gaps.examine(upTo: 50)
        gaps.fail(in: 20..<100)
        gaps.fail(in: 30..<60)
        #expect(gaps.failed == 20..<100)
        gaps.giveUp(from: 20)
        #expect(gaps.examinedEnd == 20 && gaps.closedEnd == 20)
        gaps.released(upTo: 60, of: 20..<100)
        #expect(gaps.failed == 60..<100)
        gaps.released(upTo: 100, of: 60..<100)
        #expect(gaps.failed == nil)
    }

    @Test func aTruncationCutsEverything() {
        var gaps = Gaps(end: 80)
        gaps.close(at: 100)
        gaps.examine(upTo: 100)
        gaps.fail(in: 40..<100)
        gaps.exclude(50..<90)
        gaps.truncate(to: 60)
        #expect(gaps.oldEnd == 60 && gaps.examinedEnd == 60 && gaps.closedEnd == 60)
        #expect(gaps.failed == 40..<60)
        #expect(gaps.excluded.ranges == [50..<60])
        gaps.truncate(to: 30)
        #expect(gaps.failed == nil)
    }

    /// Tens of thousands of gaps must not hold a close for seconds.
    @Test func manySmallGapsAreReservedTogether() {
        var gaps = Gaps(end: 0)
        let part = 0..<100 * Self.mib
        #expect(gaps.piece(of: 0..<4096, in: part) == 0..<4096)
        for number in 0..<UInt64(ReservingPace.mostSingleGaps) {
            gaps.reserved(number * 8192..<number * 8192 + 4096, in: 1)
        }
        #expect(gaps.piece(of: 0..<4096, in: part) == 0..<ReservingPace.least)
        #expect(gaps.piece(of: 0..<4096, in: 0..<8192) == 0..<8192)
    }
}
