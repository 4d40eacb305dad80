import Testing

@testable import ACLFileSystem

/// Until when the kernel may hold attributes to be good.
@Suite struct AttributeTimeoutTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func nothingIsLeftOfWhatWasNotGiven() {
        let time = AttributeTimeout()
        let isLeft = time.isRunning(at: 0)
        #expect(!isLeft)
    }

    @Test func itOutlastsAnAnswerThatIsUsedLate() {
        let time = AttributeTimeout()
        time.extend(seconds: 1, at: 10 * Self.second)
        let left = [10, 11, 12, 13].map { time.isRunning(at: $0 * Self.second) }
        #expect(left == [true, true, false, false])
    }

    @Test func theLatestCounts() {
        let time = AttributeTimeout()
        time.extend(seconds: 7200, at: Self.second)
        time.extend(seconds: 1, at: 2 * Self.second)
        let isLeft = time.isRunning(at: 7000 * Self.second)
        #expect(isLeft)
    }

    @Test func whatIsAnsweredAtOnceDoesNotCount() {
        let time = AttributeTimeout()
        time.extend(seconds: 7200, at: 10 * Self.second)
        time.invalidate(at: 11 * Self.second)
        time.extend(seconds: 7200, at: 11 * Self.second + 1)
        let isLeftForgotten = time.isRunning(at: 20 * Self.second)
        #expect(!isLeftForgotten)
        time.extend(seconds: 7200, at: 13 * Self.second)
        let isLeft = time.isRunning(at: 20 * Self.second)
        #expect(isLeft)
    }

    @Test func anAnswerThatIsTakenAlwaysReplacesAll() {
        let time = AttributeTimeout()
        time.extend(seconds: 7200, at: Self.second)
        time.replace(seconds: 1, at: 2 * Self.second)
        let left = [3, 4, 5].map { time.isRunning(at: $0 * Self.second) }
        #expect(left == [true, false, false])
        time.invalidate(at: 5 * Self.second)
        time.replace(seconds: 0, at: 5 * Self.second)
        time.extend(seconds: 1, at: 5 * Self.second)
        let isLeft = time.isRunning(at: 6 * Self.second)
        #expect(isLeft)
    }
}
