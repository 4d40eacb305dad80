import TestSupport
import Testing

@testable import ACLFileSystem

/// What the gaps of users may cost (docs/internals/zerofill.md "Budget").
struct ZeroFillSpendingTests {
    private static let mebibyte: UInt64 = 1 << 20
    private static let budget = 64 * mebibyte
    private static let start: UInt64 = 1_000_000_000_000

    /// - Returns: how many mebibytes could be spent.
    private func spent(_ spending: inout ZeroFillSpending, _ user: UInt32, _ budget: UInt64? = Self.budget, at time: UInt64) -> Int {
        (0..<1000).count { _ in spending.spend(Self.mebibyte, for: user, of: budget, now: time) }
    }

    @Test func aUserSpendsTheBudgetAndItComesBackEvenly() {
        var spending = ZeroFillSpending()
        #expect(spent(&spending, 1000, at: Self.start) == 64)
        #expect(spent(&spending, 1000, at: Self.start + ZeroFillSpending.period / 4) == 16)
        #expect(spent(&spending, 1000, at: Self.start + ZeroFillSpending.period * 100) == 64)
    }

    @Test func askingOftenLosesNothingOfIt() {
        var spending = ZeroFillSpending()
        var count = spent(&spending, 1000, 4096 * 60, at: Self.start)
        #expect(count == 0, "a piece that is larger than the budget is never written")
        for step in 1...60_000 {
            let time = Self.start + ZeroFillSpending.period / 60_000 * UInt64(step)
            if spending.spend(1, for: 1000, of: 4096 * 60, now: time) { count += 1 }
        }
        #expect((118...120).contains(count), "\(count)")
    }

    @Test func oneUserLeavesTheOthersTheirs() {
        var spending = ZeroFillSpending()
        #expect(spent(&spending, 1000, at: Self.start) == 64)
        #expect(spent(&spending, 1001, at: Self.start) == 64)
    }

    @Test func allTogetherHaveFourTimesAsMuchAndLeaveSomethingToEachOther() {
        var spending = ZeroFillSpending()
        #expect((1000..<1010).map { spent(&spending, $0, at: Self.start) } == [64, 64, 64, 64, 4, 4, 4, 4, 4, 4])
        #expect((1010..<1030).reduce(0) { $0 + spent(&spending, $1, at: Self.start) } == 64 - 24)
    }

    @Test func manyIdentitiesTakeNoMemory() {
        var spending = ZeroFillSpending()
        for user in 0..<UInt32(10 * ZeroFillSpending.mostAccounts) { _ = spending.spend(1, for: user, of: 1 << 40, now: Self.start) }
        #expect(spending.accounts <= ZeroFillSpending.mostAccounts + 1)
        // When all is forgotten there is room for others.
        _ = spending.spend(1, for: .max - 1, of: 1 << 40, now: Self.start + ZeroFillSpending.period)
        #expect(spending.accounts == 1)
    }

    @Test func limitsAtTheEdges() {
        var spending = ZeroFillSpending()
        #expect(spent(&spending, 1000, nil, at: Self.start) == 1000)
        #expect(spent(&spending, 1000, 0, at: Self.start) == 0)
        #expect(spent(&spending, 1000, UInt64(Int64.max), at: .max) == 1000)
    }
}
