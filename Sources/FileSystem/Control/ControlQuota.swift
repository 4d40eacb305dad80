import LinuxSystem

/// A quota of processor time for the answers to each user (docs/reference/control.md "How much one user may ask").
///
/// A token bucket for each user: it fills with a twentieth of the time that passes, and each answer takes its processor time out. It may
/// fall below zero, because the cost is known afterwards; the next answer waits until it is above. Each user gets one answer at a time.
struct ControlQuota {
    /// A bucket fills with the time that passes, divided by this.
    static let share: Int64 = 20
    /// The capacity of a bucket, in nanoseconds.
    static let most: Int64 = 500_000_000
    /// Nanoseconds for a connection, besides the time of its thread.
    static let connection: Int64 = 100_000
    private static let users = 4096

    private struct Account {
        var left = ControlQuota.most
        var time: UInt64
        var isAnswering = false

        mutating func fill(at now: UInt64) {
            left = min(ControlQuota.most, left + Int64(clamping: now - min(time, now)) / ControlQuota.share)
            time = now
        }
    }
    private var accounts: [UInt32: Account] = [:]

    /// Begins an answer, if the user may have one now. `end` ends it.
    /// - Parameter now: monotonic nanoseconds, as everywhere in this file.
    /// - Returns: false if another answer is in progress, or nothing is left.
    mutating func begin(_ uid: UInt32, at now: UInt64) -> Bool {
        var account = account(of: uid, at: now)
        defer { accounts[uid] = account }
        guard !account.isAnswering, account.left > 0 else { return false }
        account.isAnswering = true
        return true
    }

    /// Monotonic nanoseconds from which on an answer may begin; nil while one is in progress.
    func readyTime(of uid: UInt32) -> UInt64? {
        guard let account = accounts[uid] else { return 0 }
        if account.isAnswering { return nil }
        return account.left > 0 ? account.time : account.time + UInt64((1 - account.left) * Self.share)
    }

    mutating func end(_ uid: UInt32) { accounts[uid]?.isAnswering = false }

    /// - Parameter nanoseconds: of processor time.
    mutating func charge(_ uid: UInt32, _ nanoseconds: Int64, at now: UInt64) {
        var account = account(of: uid, at: now)
        account.left -= nanoseconds
        accounts[uid] = account
    }

    private mutating func account(of uid: UInt32, at now: UInt64) -> Account {
        if var account = accounts[uid] {
            account.fill(at: now)
            return account
        }
        // A full bucket need not be kept.
        if accounts.count >= Self.users {
            accounts = accounts.filter { _, account in
                var account = account
                account.fill(at: now)
                return account.isAnswering || account.left < Self.most
            }
        }
        return Account(time: now)
    }
}

/// The quotas of all users. A thread waits here until its client's user may have an answer.
final class ControlTurns: Sendable {
    /// Nanoseconds after which a waiting client is refused.
    private static let timeout: UInt64 = 20_000_000_000
    private struct State {
        var quota = ControlQuota()
        var hasStopped = false
    }
    private enum Step {
        case begun, refused
        case waiting(until: UInt64)
    }
    private let state = Monitor(State())

    /// Ends all waits. The mount is gone.
    func stop() { state.withLock { $0.hasStopped = true } }

    /// Waits until an answer to this user may begin.
    /// - Returns: false at the deadline.
    fileprivate func begin(_ uid: UInt32) -> Bool {
        let deadline = SystemTime.monotonic() + Self.timeout
        var end = deadline
        while true {
            let step: Step? = state.wait(until: end) { state in
                let now = SystemTime.monotonic()
                if state.hasStopped || now >= deadline { return .refused }
                if state.quota.begin(uid, at: now) { return .begun }
                // The end of another answer may change the time.
                guard let ready = state.quota.readyTime(of: uid), ready != end else { return nil }
                return .waiting(until: ready)
            }
            switch step {
            case .begun: return true
            case .refused: return false
            case .waiting(let ready): end = min(ready, deadline)
            case nil: end = deadline
            }
        }
    }

    fileprivate func end(_ uid: UInt32) { state.withLock { $0.quota.end(uid) } }

    fileprivate func charge(_ uid: UInt32, _ nanoseconds: Int64) {
        state.withLock { $0.quota.charge(uid, nanoseconds, at: SystemTime.monotonic()) }
    }
}

/// Charges the processor time of one client's thread to the quota of its user. Privileged users have no quota.
struct ControlMeter {
    private let turns: ControlTurns?
    private let payer: UInt32
    private var charged: Int64 = -ControlQuota.connection
    private var hasBegun = false

    init(_ turns: ControlTurns?, payer: UInt32) { (self.turns, self.payer) = (turns, payer) }

    /// - Returns: false if the client must ask again later.
    mutating func begin() -> Bool {
        guard let turns else { return true }
        hasBegun = turns.begin(payer)
        return hasBegun
    }

    /// Charges the processor time since the last call, and lets another answer to the user begin.
    mutating func end() {
        guard let turns else { return }
        let spent = SystemTime.threadProcessor()
        turns.charge(payer, spent - charged)
        charged = spent
        if hasBegun { turns.end(payer) }
        hasBegun = false
    }
}
