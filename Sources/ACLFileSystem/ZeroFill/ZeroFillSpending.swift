import LinuxSystem

/// How many bytes of zeros the gaps of each user, and of all together, may have made this daemon write lately (docs/zerofill.md
/// "Budget"). A gap costs a program one byte, and filling it the whole gap.
///
/// What was spent is forgotten evenly, as much as the budget in each period. So each mount may have a budget of its own.
struct ZeroFillSpending: Sendable {
    /// In nanoseconds: as much time as it takes until a whole budget may be spent anew.
    static let period: UInt64 = 60_000_000_000
    /// All users together have so many times what one has.
    static let totalFactor: UInt64 = 4
    /// Of more users than this the rest share one account: whoever has many ids has no memory of ours for each.
    static let mostAccounts = 1024
    /// The smallest hole there is, more or less: each takes a write of its own.
    fileprivate static let leastCost: UInt64 = 4096

    private struct Account {
        var spent: UInt64 = 0
        /// Monotonic nanoseconds.
        var at: UInt64 = 0

        mutating func decay(_ budget: UInt64, now: UInt64) {
            let time = now > at ? now - at : 0
            let (high, low) = budget.multipliedFullWidth(by: time)
            // A budget is below 2^63 bytes, so only a long time makes the quotient too large.
            let forgotten = high >= ZeroFillSpending.period ? UInt64.max : ZeroFillSpending.period.dividingFullWidth((high, low)).quotient
            // What is rounded off, each time, is lost: so not too often.
            guard forgotten >= min(ZeroFillSpending.leastCost, budget), forgotten > 0 else { return }
            spent -= min(spent, forgotten)
            at = now
        }

        func allows(_ cost: UInt64, _ budget: UInt64) -> Bool { spent <= budget && cost <= budget - spent }
    }

    private var users: [UInt32: Account] = [:]
    private var all = Account()
    /// When all accounts were last looked at, in the hope that some are empty.
    private var sweptAt: UInt64 = 0

    /// How many users something is remembered of.
    var accounts: Int { users.count }

    /// - Parameters:
    ///   - budget: bytes for each user and period; nil: no limit, and nothing is remembered.
    /// - Returns: whether these bytes may be written now; then they are spent.
    mutating func spend(_ count: UInt64, for user: UInt32, of budget: UInt64?, now: UInt64) -> Bool {
        guard let budget else { return true }
        guard allows(count, for: user, of: budget, now: now) else { return false }
        let cost = max(count, Self.leastCost)
        users[account(of: user, budget, now), default: Account(spent: 0, at: now)].spent += cost
        all.spent += cost
        return true
    }

    /// The same without spending them.
    mutating func allows(_ count: UInt64, for user: UInt32, of budget: UInt64?, now: UInt64) -> Bool {
        guard let budget else { return true }
        let cost = max(count, Self.leastCost)
        let (product, overflows) = budget.multipliedReportingOverflow(by: Self.totalFactor)
        let whole = overflows ? UInt64(Int64.max) : product
        all.decay(whole, now: now)
        let account = account(of: user, budget, now)
        users[account]?.decay(budget, now: now)
        return (users[account] ?? Account()).allows(cost, budget) && all.allows(cost, whole)
    }

    private mutating func account(of user: UInt32, _ budget: UInt64, _ now: UInt64) -> UInt32 {
        if users[user] != nil || users.count < Self.mostAccounts { return user }
        // Looking at all of them for each piece would be work for nothing.
        guard now >= sweptAt + 1_000_000_000 else { return .max }
        sweptAt = now
        for other in Array(users.keys) {
            users[other]?.decay(budget, now: now)
            if users[other]?.spent == 0 { users[other] = nil }
        }
        return users.count < Self.mostAccounts ? user : .max
    }
}
