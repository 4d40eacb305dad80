import Authorization
import LinuxSystem

/// What the directory service says about users' groups (`groups=directory`), nested groups included.
///
/// Asking may take as long as the service's deadline, so it is done before a request takes any lock (`learn`);
/// decisions then read what was learned and never wait. docs/identity.md
public final class DirectoryGroups: Sendable {
    private struct Learned {
        /// nil = it could not be learned.
        var groups: [UInt32]?
        /// On the monotonic clock, nanoseconds.
        var time: UInt64
    }

    /// How much older than its lifetime a list may get while the request that learned it is served.
    private static let requestTime: UInt64 = 10_000_000_000
    /// A failure is not kept for longer than this, however long lists are.
    private static let failureLifetime: UInt64 = 1_000_000_000

    private let service: AccountService
    private let lifetime: UInt64
    private let limit: Int
    private let users = Lock<[UInt32: Learned]>([:])

    /// `milliseconds`: how long a list may be used (`groups_cache`); 0 = each request asks anew.
    public init(_ service: AccountService, milliseconds: UInt32, limit: Int = 4096) {
        (self.service, lifetime, self.limit) = (service, UInt64(milliseconds) * 1_000_000, limit)
    }

    /// How many lists are kept now.
    public var count: Int { users.withLock { $0.count } }

    /// Asks for the user's groups unless a list is young enough. May wait: no lock may be held.
    public func learn(_ uid: UInt32) {
        // Root is bound by no group, and nobody has none.
        if uid == 0 || uid == .max { return }
        let now = SystemTime.monotonic()
        if let known = users.withLock({ $0[uid] }) {
            let holds = known.groups == nil ? min(lifetime, Self.failureLifetime) : lifetime
            if now < known.time + holds { return }
        }
        let answer = service.answer(to: .groupsOfUser(uid), by: service.deadline(), anew: true)
        let groups: [UInt32]? = if case .groups(let list) = answer { list } else { nil }
        // The age counts from before the question: what changes while it is answered may be missing.
        keep(Learned(groups: groups, time: now), for: uid)
    }

    /// The groups learned for the request that is served; `nil` = unknown. Never waits.
    func groups(_ uid: UInt32) -> [UInt32]? {
        guard let known = users.withLock({ $0[uid] }) else { return nil }
        return SystemTime.monotonic() < known.time + lifetime + Self.requestTime ? known.groups : nil
    }

    private func keep(_ learned: Learned, for uid: UInt32) {
        users.withLock { users in
            // Another request may have learned later than this one and been faster.
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
