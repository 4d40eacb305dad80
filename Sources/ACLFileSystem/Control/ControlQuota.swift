import LinuxSystem

/// How much of a processor the answers to one user may take (docs/control.md "How much one user may ask").
///
/// A bucket for each user: it fills with a twentieth of the time that passes, and what the answers took flows out. It may fall below
/// zero, since what an answer costs is known afterwards; the next one waits until it is above. One answer of a user is made at a time.
struct ControlQuota {
    /// Of one processor.
    static let share: Int64 = 20
    /// Nanoseconds that a user who asks rarely has at once.
    static let most: Int64 = 500_000_000
    /// For a connection, besides what its thread takes.
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

    /// Begins an answer, which `end` ends.
    /// - Parameter now: on the monotonic clock, as everywhere here.
    /// - Returns: false if another one is under way, or nothing is left.
    mutating func begin(_ uid: UInt32, at now: UInt64) -> Bool {
        var account = account(of: uid, at: now)
        defer { accounts[uid] = account }
        guard !account.isAnswering, account.left > 0 else { return false }
        account.isAnswering = true
        return true
    }

    /// When an answer may begin, if none is under way then; nil while one is.
    func readyTime(of uid: UInt32) -> UInt64? {
        guard let account = accounts[uid] else { return 0 }
        if account.isAnswering { return nil }
        return account.left > 0 ? account.time : account.time + UInt64((1 - account.left) * Self.share)
    }

    mutating func end(_ uid: UInt32) { accounts[uid]?.isAnswering = false }

    /// - Parameter nanoseconds: of a processor.
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
        // A user whose bucket is full again is as one who never asked.
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

/// The users' allowances, and the threads that wait for theirs.
final class ControlTurns: Sendable {
    /// A client that waits longer is told so.
    private static let patience: UInt64 = 20_000_000_000
    private struct State {
        var allowance = ControlQuota()
        var hasStopped = false
    }
    private enum Step {
        case begun, refused
        case waiting(until: UInt64)
    }
    private let state = Monitor(State())

    /// The mount is gone: no client waits any more.
    func stop() { state.withLock { $0.hasStopped = true } }

    /// Waits until an answer to this user may begin; false if that takes too long.
    fileprivate func begin(_ uid: UInt32) -> Bool {
        let deadline = SystemTime.monotonic() + Self.patience
        var end = deadline
        while true {
            let step: Step? = state.wait(until: end) { state in
                let now = SystemTime.monotonic()
                if state.hasStopped || now >= deadline { return .refused }
                if state.allowance.begin(uid, at: now) { return .begun }
                // Another one's end changes when that is.
                guard let ready = state.allowance.readyTime(of: uid), ready != end else { return nil }
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

    fileprivate func end(_ uid: UInt32) { state.withLock { $0.allowance.end(uid) } }

    fileprivate func charge(_ uid: UInt32, _ nanoseconds: Int64) {
        state.withLock { $0.allowance.charge(uid, nanoseconds, at: SystemTime.monotonic()) }
    }
}

/// What the thread of one client spends of its user's allowance. Root, and the user who mounted, have no bound.
struct ControlMeter {
    private let turns: ControlTurns?
    private let uid: UInt32
    private var charged: Int64 = -ControlQuota.connection
    private var hasBegun = false

    init(_ turns: ControlTurns?, uid: UInt32) { (self.turns, self.uid) = (turns, uid) }

    /// - Returns: false if the user has to ask again later.
    mutating func begin() -> Bool {
        guard let turns else { return true }
        hasBegun = turns.begin(uid)
        return hasBegun
    }

    /// Another answer to the user may begin; what follows is charged by the next call.
    mutating func end() {
        guard let turns else { return }
        let spent = SystemTime.threadProcessor()
        turns.charge(uid, spent - charged)
        charged = spent
        if hasBegun { turns.end(uid) }
        hasBegun = false
    }
}
