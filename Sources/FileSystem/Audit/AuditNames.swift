import Identity
import LinuxSystem

/// Names of users for the lines of the log. Only the thread of the log asks, so that no request waits for an account database. An
/// unknown name counts for ten seconds only, but long enough that a silent database rarely delays the thread.
final class AuditNames: Sendable {
    private struct Known {
        var name: String?
        var expiry: UInt64
    }
    private static let most = 1024
    private let accounts: AccountService
    private let known = Lock<[UInt32: Known]>([:])

    init(_ accounts: AccountService = AccountService()) { self.accounts = accounts }

    /// nil if the uid has no account, or the databases do not answer in time.
    func name(of uid: UInt32) -> String? {
        let now = SystemTime.monotonic()
        if let known = known.withLock({ $0[uid] }), known.expiry > now { return known.name }
        var name: String?
        if case .user(let user) = accounts.answer(to: .user(uid), by: accounts.deadline()) { name = user.name }
        let lifetime: UInt64 = name == nil ? 10 : 60
        known.withLock { known in
            if known.count >= Self.most { known.removeAll() }
            known[uid] = Known(name: name, expiry: SystemTime.monotonic() + lifetime * 1_000_000_000)
        }
        return name
    }
}
