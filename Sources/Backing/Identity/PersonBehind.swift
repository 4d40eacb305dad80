import LinuxSystem

/// The person who acts under a uid. A user acts as many other uids in user namespaces of the user's own; limits and denies count all of
/// them as one (docs/reference/identity.md "Subordinate ids").
public final class PersonBehind: Sendable {
    public static let system = PersonBehind(.users)

    private struct Learned {
        var payer: UInt32
        var expiry: UInt64
    }
    private static let most = 4096
    /// Nanoseconds for which a uid that a namespace maps is known to be its maker's.
    private static let lifetime: UInt64 = 60_000_000_000

    private let subordinates: SubordinateIDs
    /// Uids that no file gives to users. The kernel lets no user map a uid that is not given to them, so the answer holds for all threads.
    private let learned = Lock<[UInt32: Learned]>([:])

    public init(_ subordinates: SubordinateIDs) { self.subordinates = subordinates }

    /// The uid that is charged for what a thread uses: the user who has this one for user namespaces, or made the thread's. Ranges of root's
    /// containers, and of users who are not found, are charged by a number of theirs. It is 0 for uid 0 alone.
    /// - Parameters:
    ///   - uid: of the request.
    ///   - tid: the thread that waits for the answer; 0 = unknown.
    @inline(__always)
    public func payer(of uid: UInt32, tid: Int32) -> UInt32 { subordinates.excludes(uid) ? uid : search(uid, tid) }

    private func search(_ uid: UInt32, _ tid: Int32) -> UInt32 {
        if let owner = subordinates.owner(of: uid) { return owner.payer }
        guard uid >= SubordinateRanges.leastOfOthers, uid != .max, tid > 0 else { return uid }
        let now = SystemTime.monotonic()
        if let known = learned.withLock({ $0[uid] }), known.expiry > now { return known.payer }
        guard let maker = CallerNamespace.maker(ofThread: tid) else { return uid }
        let payer: UInt32
        if maker == uid {
            return uid
        } else if maker == 0 {
            payer = CallerNamespace.firstMapped(with: uid, ofThread: tid) ?? uid
        } else {
            payer = subordinates.owner(of: maker)?.payer ?? maker
        }
        guard payer != 0 else { return uid }
        learned.withLock { learned in
            if learned.count >= Self.most { learned.removeAll() }
            learned[uid] = Learned(payer: payer, expiry: now + Self.lifetime)
        }
        return payer
    }

    /// Whether a uid may be one that a user acts as in a user namespace. It costs one comparison.
    func mayBeSubordinate(_ uid: UInt32) -> Bool { !subordinates.excludes(uid) }

    /// - Parameter maker: who made the thread's namespace, if that is not the daemon's.
    func isSubordinate(_ uid: UInt32, to user: UInt32, maker: () -> UInt32?) -> Bool {
        switch subordinates.owner(of: uid) {
        case .user(let owner): owner == user
        // Root is denied nothing, so no user hides behind root's ids.
        case .root: false
        case .unknown: true
        case nil: uid >= SubordinateRanges.leastOfOthers && maker() == user
        }
    }
}
