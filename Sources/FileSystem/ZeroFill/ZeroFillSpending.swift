import LinuxSystem

/// The bytes of zeros that the gaps of each user, and of all users, cost lately (docs/internals/zerofill.md "Budget"). They decay evenly, at
/// the rate of the budget for each period, so that each mount may have a budget of its own.
struct ZeroFillSpending: Sendable {
    /// Nanoseconds after which a whole budget is available again.
    static let period: UInt64 = 60_000_000_000
    /// The budget of all users together is this many times that of one user.
    static let totalFactor: UInt64 = 4
    /// Users who have spent less than this part of their budget may exceed that of all, by one budget together.
    static let reserveDivisor: UInt64 = 16
    /// The most accounts. Further users share one account, so that memory is bounded.
    static let mostAccounts = 1024
    /// About the smallest hole. Each gap takes a write of its own.
    fileprivate static let leastCost: UInt64 = 4096

    private struct Account {
        var spent: UInt64 = 0
        /// Monotonic nanoseconds.
        var at: UInt64 = 0

        mutating func decay(_ budget: UInt64, now: UInt64) {
            let time = now > at ? now - at : 0
            let (high, low) = budget.multipliedFullWidth(by: time)
            // A budget is below 2^63 bytes, so the quotient overflows only after a long time.
            let forgotten = high >= ZeroFillSpending.period ? UInt64.max : ZeroFillSpending.period.dividingFullWidth((high, low)).quotient
            // The division rounds down, and each call would lose the remainder. So only an amount that is large enough is subtracted.
            guard forgotten >= min(ZeroFillSpending.leastCost, budget), forgotten > 0 else { return }
            spent -= min(spent, forgotten)
            at = now
        }

        func allows(_ cost: UInt64, _ budget: UInt64) -> Bool { spent <= budget && cost <= budget - spent }
    }

    private var users: [UInt32: Account] = [:]
    private var all = Account()
    /// When empty accounts were last removed, in monotonic nanoseconds.
    private var sweptAt: UInt64 = 0

    /// The number of users with an account.
    var accounts: Int { users.count }

    /// Charges a user's account.
    /// - Parameters:
    ///   - count: bytes of zeros.
    ///   - budget: bytes for each user and period; nil: no limit, and nothing is charged.
    ///   - now: monotonic nanoseconds.
    /// - Returns: whether the budget allows the bytes now.
    mutating func spend(_ count: UInt64, for user: UInt32, of budget: UInt64?, now: UInt64) -> Bool {
        guard let budget else { return true }
        guard allows(count, for: user, of: budget, now: now) else { return false }
        let cost = max(count, Self.leastCost)
        users[account(of: user, budget, now), default: Account(spent: 0, at: now)].spent += cost
        all.spent += cost
        return true
    }

    /// As `spend`, without charging anything.
    mutating func allows(_ count: UInt64, for user: UInt32, of budget: UInt64?, now: UInt64) -> Bool {
        guard let budget else { return true }
        let cost = max(count, Self.leastCost)
        let (product, overflows) = budget.multipliedReportingOverflow(by: Self.totalFactor)
        let whole = overflows ? UInt64(Int64.max) : product
        all.decay(whole, now: now)
        let account = account(of: user, budget, now)
        users[account]?.decay(budget, now: now)
        let own = users[account] ?? Account()
        // Others cannot spend what is left to a user who has spent little.
        let reserve = own.allows(cost, budget / Self.reserveDivisor) && whole <= UInt64.max - budget ? budget : 0
        return own.allows(cost, budget) && all.allows(cost, whole + reserve)
    }

    private mutating func account(of user: UInt32, _ budget: UInt64, _ now: UInt64) -> UInt32 {
        if users[user] != nil || users.count < Self.mostAccounts { return user }
        // A sweep for each piece would cost more than it frees.
        guard now >= sweptAt + 1_000_000_000 else { return .max }
        sweptAt = now
        for other in Array(users.keys) {
            users[other]?.decay(budget, now: now)
            if users[other]?.spent == 0 { users[other] = nil }
        }
        return users.count < Self.mostAccounts ? user : .max
    }
}
