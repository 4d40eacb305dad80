import Identity
import LinuxSystem

/// Names of users for the lines of the log. Only the thread that writes them asks: no request waits for an account database.
///
/// A name is kept for a minute. That there is none, or no answer, is kept for ten seconds, so that a database that hangs holds the
/// lines up once for each user in that time. They wait meanwhile, each user's in its own queue.
final class AuditNames: Sendable {
    private struct Known {
        var name: String?
        var expiry: UInt64
    }
    private static let most = 1024
    private let accounts: AccountService
    private let known = Lock<[UInt32: Known]>([:])

    init(_ accounts: AccountService = AccountService()) { self.accounts = accounts }

    /// nil where nobody has the number, or the databases do not say in time.
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
