import Authorization
import LinuxSystem

/// The groups of users according to the directory service (`groups=directory`), nested groups included.
///
/// A question may take until the service's deadline. So a request asks before it takes any lock (`learn`); decisions use the answer
/// and never wait. docs/reference/identity.md
public final class DirectoryGroups: Sendable {
    private struct Learned {
        /// nil = the service did not answer.
        var groups: [UInt32]?
        /// On the monotonic clock, nanoseconds.
        var time: UInt64
    }

    /// How much longer than its lifetime a list is valid for the request that asked for it, in nanoseconds.
    private static let requestTime: UInt64 = 10_000_000_000
    /// The longest time for which a failure is kept, in nanoseconds.
    private static let failureLifetime: UInt64 = 1_000_000_000

    private let service: AccountService
    private let lifetime: UInt64
    private let limit: Int
    private let users = Lock<[UInt32: Learned]>([:])

    /// - Parameters:
    ///   - service: asks the databases.
    ///   - milliseconds: how long a list is used (`groups_cache`); 0 = each request asks.
    ///   - limit: number of lists that are kept.
    public init(_ service: AccountService, milliseconds: UInt32, limit: Int = 4096) {
        (self.service, lifetime, self.limit) = (service, UInt64(milliseconds) * 1_000_000, limit)
    }

    /// Number of lists that are kept now.
    public var count: Int { users.withLock { $0.count } }

    /// Asks for the user's groups, unless the list is recent. It may wait: the caller must not hold a lock.
    /// - Parameter payer: whose turn the question takes.
    public func learn(_ uid: UInt32, for payer: UInt32? = nil) {
        // No group restricts root, and the id -1 has none.
        if uid == 0 || uid == .max { return }
        let now = SystemTime.monotonic()
        if let known = users.withLock({ $0[uid] }) {
            let holds = known.groups == nil ? min(lifetime, Self.failureLifetime) : lifetime
            if now < known.time + holds { return }
        }
        let answer = service.answer(to: .groupsOfUser(uid), by: service.deadline(), for: payer, anew: true)
        let groups: [UInt32]? = if case .groups(let list) = answer { list } else { nil }
        // The age counts from before the question: a change during the answer may be missing in it.
        keep(Learned(groups: groups, time: now), for: uid)
    }

    /// The groups for the request that is served; nil = unknown. Never waits.
    func groups(_ uid: UInt32) -> [UInt32]? {
        guard let known = users.withLock({ $0[uid] }) else { return nil }
        return SystemTime.monotonic() < known.time + lifetime + Self.requestTime ? known.groups : nil
    }

    private func keep(_ learned: Learned, for uid: UInt32) {
        users.withLock { users in
            // Another request may have asked later and got its answer earlier.
            if let known = users[uid], known.time > learned.time { return }
            if users.count >= limit, users[uid] == nil {
                let oldest = learned.time - min(learned.time, lifetime + Self.requestTime)
                users = users.filter { $0.value.time > oldest }
                if users.count >= limit { users.removeAll() }
            }
            users[uid] = learned
        }
    }
}
