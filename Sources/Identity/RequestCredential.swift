import Authorization

/// Whoever sent a request: uid and gid as the kernel vouches for them, supplementary groups as /proc shows
/// them, read only when an answer depends on them and at most once per request.
///
/// An id of `UInt32.max` is nobody's: no object can have it as owner, and it is a member of nothing.
public struct RequestCredential: Credential, Sendable {
    private enum Groups: Sendable {
        case unread
        case known([UInt32])
        case unknown
    }

    public let uid: UInt32
    public let gid: UInt32
    public var effectiveGroup: UInt32? { gid }
    private let tid: Int32
    private let cache: GroupCache
    private let realIDsCount: Bool
    private var groups = Groups.unread

    /// `tid`: the number of the requesting thread; 0 = the kernel does not tell. `realIDsCount`: the request is
    /// access(2), which comes with the thread's real ids.
    public init(uid: UInt32, gid: UInt32, tid: Int32, cache: GroupCache, realIDsCount: Bool = false) {
        (self.uid, self.gid, self.tid, self.cache) = (uid, gid, tid, cache)
        self.realIDsCount = realIDsCount
    }

    public mutating func membership(inGroup gid: UInt32) -> Membership {
        if gid == .max { return .unknown }
        if gid == self.gid { return .member }
        if case .unread = groups {
            groups = cache.groups(tid: tid, uid: uid, gid: self.gid, realIDsCount: realIDsCount).map { .known($0) } ?? .unknown
        }
        guard case .known(let list) = groups, let isMember = cache.contains(list, gid) else { return .unknown }
        return isMember ? .member : .notMember
    }
}
