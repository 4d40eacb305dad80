import Authorization

/// The caller of a request. The kernel gives its uid and gid. Its supplementary groups and capabilities are read from /proc, only if a decision
/// depends on them. A request with several decisions makes several credentials; `GroupCache` reads the groups once for all of them.
///
/// With `groups=directory` the directory service is asked as well; its answer is about the user, not the process.
///
/// The id `UInt32.max` is no user's and no group's: it owns no object and is a member of nothing.
public struct RequestCredential: Credential, Sendable {
    private enum Groups: Sendable {
        case unread
        case known(ThreadGroups)
        case unknown
    }

    public let uid: UInt32
    public let gid: UInt32
    public var effectiveGroup: UInt32? { gid }
    private let tid: Int32
    private let request: UInt64
    private let cache: GroupCache
    private let realIDsCount: Bool
    /// The uid may be one that another user acts as.
    private let mayBeSubordinate: Bool
    private var groups = Groups.unread

    /// - Parameters:
    ///   - uid: the uid of the request.
    ///   - gid: the gid of the request.
    ///   - tid: the requesting thread; 0 = the kernel does not say.
    ///   - request: the number of the request, unique for this cache; 0 = none.
    ///   - cache: reads and keeps groups.
    ///   - realIDsCount: the request may belong to access(2), which has the real ids of the thread.
    ///   - isSquashed: the ids are not those of the thread, whose groups do not count either (`rootsquash`).
    public init(
        uid: UInt32, gid: UInt32, tid: Int32, request: UInt64 = 0, cache: GroupCache, realIDsCount: Bool = false,
        isSquashed: Bool = false
    ) {
        (self.uid, self.gid, self.tid, self.request, self.cache) = (uid, gid, tid, request, cache)
        self.realIDsCount = realIDsCount
        mayBeSubordinate = !isSquashed && cache.persons.mayBeSubordinate(uid)
        if isSquashed { groups = .known(.none) }
    }

    public func translation(of guid: GUID) -> Principal? { cache.identities?.principal(of: guid) }

    /// Who acts as a subordinate id of a user's may be that user, whom an entry denies.
    public mutating func membership(ofUser user: UInt32) -> Membership {
        if user == uid { return uid == .max ? .notMember : .member }
        guard mayBeSubordinate, user != 0, user != .max else { return .notMember }
        return cache.persons.isSubordinate(uid, to: user, maker: { processGroups?.maker }) ? .unknown : .notMember
    }

    public mutating func membership(inGroup gid: UInt32) -> Membership {
        if gid == .max { return .unknown }
        if gid == self.gid { return .member }
        // The process' own list or the directory makes a member; only both together deny it
        // (docs/reference/authorization.md 1.4 rule 3).
        let byDirectory = cache.directory.map { directory in membership(directory.groups(uid).flatMap { cache.contains($0, gid) }) }
        if byDirectory == .member { return .member }
        let byProcess = processMembership(gid)
        return byProcess == .notMember ? byDirectory ?? .notMember : byProcess
    }

    /// None if they cannot be read, also of root.
    public mutating func capabilities(over object: ObjectFacts?) -> Capabilities { processGroups?.capabilities(over: object) ?? [] }

    public mutating func reaches(user uid: UInt32?, group gid: UInt32?) -> Bool {
        processGroups?.reaches(user: uid, group: gid) ?? false
    }

    public var reachesEverything: Bool { mutating get { processGroups?.isInOwnNamespace ?? false } }

    private mutating func processMembership(_ gid: UInt32) -> Membership {
        membership(processGroups.flatMap { cache.contains($0, gid) })
    }

    /// nil = unknown.
    private var processGroups: ThreadGroups? {
        mutating get {
            if case .unread = groups {
                let list = cache.groups(tid: tid, uid: uid, gid: gid, request: request, realIDsCount: realIDsCount)
                groups = list.map { .known($0) } ?? .unknown
            }
            return if case .known(let groups) = groups { groups } else { nil }
        }
    }

    private func membership(_ isMember: Bool?) -> Membership { isMember.map { $0 ? .member : .notMember } ?? .unknown }
}
