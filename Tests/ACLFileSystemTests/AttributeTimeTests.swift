import Testing

@testable import ACLFileSystem

/// Until when the kernel may hold attributes to be good.
@Suite struct AttributeTimeTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func nothingIsLeftOfWhatWasNotGiven() {
        let time = AttributeTime()
        let (wasGiven, isLeft) = (time.wasGiven, time.isLeft(at: 0))
        #expect(!wasGiven)
        #expect(!isLeft)
    }

    @Test func itOutlastsAnAnswerThatIsUsedLate() {
        let time = AttributeTime()
        time.isGiven(seconds: 1, at: 10 * Self.second)
        let left = [10, 11, 12, 13].map { time.isLeft(at: $0 * Self.second) }
        #expect(left == [true, true, false, false])
    }

    @Test func theLatestCounts() {
        let time = AttributeTime()
        time.isGiven(seconds: 7200, at: Self.second)
        time.isGiven(seconds: 1, at: 2 * Self.second)
        let isLeft = time.isLeft(at: 7000 * Self.second)
        #expect(isLeft)
        time.forget()
        let isLeftForgotten = time.isLeft(at: 3 * Self.second)
        #expect(!isLeftForgotten)
    }
}
