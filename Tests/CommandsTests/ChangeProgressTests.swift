import Testing

@testable import Commands

/// The line on a terminal while a tree is walked.
struct ChangeProgressTests {
    @Test func aLineHasNumberRateAndRemainingTime() {
        let second: UInt64 = 1_000_000_000
        #expect(
            ChangeProgress.text(500, of: 2000, nanoseconds: second, columns: 80) == "500 of 2000 objects examined, 500 a second, 3 s left")
        #expect(ChangeProgress.text(500, of: nil, nanoseconds: second, columns: 80) == "500 objects examined, 500 a second")
        #expect(ChangeProgress.text(1, of: 7201, nanoseconds: second, columns: 80).hasSuffix("2 h 0 min left"))
    }

    /// What wraps on the terminal would stay there.
    @Test(arguments: [2, 20, 40, 53, 54, 80])
    func noLineIsAsWideAsTheTerminal(_ columns: Int) {
        let text = ChangeProgress.text(5728, of: 10101, nanoseconds: 500_000_000, columns: columns)
        #expect(text.count < columns && "5728 of 10101 objects examined, 11456 a second, 0 s left".hasPrefix(text))
    }
}
