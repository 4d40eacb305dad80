import Authorization
import LinuxSystem

/// Supplementary groups and capabilities of threads, kept for a short time: reading them costs more than a request.
///
/// Within the lifetime a setgroups(2), a capset(2) and an execve(2) go unnoticed, and so does a new thread with the same number, uid and gid. With lifetime 0
/// each request reads the groups. All decisions of one request get the same list.
public final class GroupCache: Sendable {
    private struct Key: Hashable {
        var tid: Int32
        var uid: UInt32
        var gid: UInt32
        var realIDsCount: Bool
    }
    private struct Entry {
        /// nil: they could not be read, which holds for this request only.
        var groups: ThreadGroups?
        /// On the monotonic clock, nanoseconds.
        var expiry: UInt64
        /// The request that was last answered from it.
        var request: UInt64
    }

    private let lifetime: UInt64
    private let limit: Int
    private let unmapped: UInt32?
    private let capabilitiesCount: Bool
    private let lent: Capabilities
    private let entries = Lock<[Key: Entry]>([:])
    /// What users' processes do not say about their groups (`groups=directory`); `nil` = processes alone count.
    let directory: DirectoryGroups?
    /// Translates identities from elsewhere (`identities`); nil: nothing does.
    public let identities: IdentityMap?
    let persons: PersonBehind
    private let subordinateGroups: SubordinateIDs

    /// `milliseconds`: how long an entry may be used (`groups_cache`); `limit`: how many are kept.
    /// `persons`, `subordinateGroups`: whose ids are for user namespaces. `capabilitiesCount`: false = no caller has any.
    /// `lent`: what uid 0 in another user namespace has over the whole file system, whatever its threads have.
    public init(
        milliseconds: UInt32 = 100, limit: Int = 1024, directory: DirectoryGroups? = nil, identities: IdentityMap? = nil,
        persons: PersonBehind = .system, subordinateGroups: SubordinateIDs = .groups, capabilitiesCount: Bool = true,
        lent: Capabilities = []
    ) {
        (self.directory, self.identities, self.persons, self.subordinateGroups) = (directory, identities, persons, subordinateGroups)
        (self.capabilitiesCount, self.lent) = (capabilitiesCount, capabilitiesCount ? lent : [])
        lifetime = UInt64(milliseconds) * 1_000_000
        self.limit = limit
        do { unmapped = try OverflowGroup.read() } catch { unmapped = 65534 }
    }

    /// Number of lists that are kept now.
    public var count: Int { entries.withLock { $0.count } }

    /// The groups of thread `tid`, if it acts under this identity; `nil` = unknown.
    ///
    /// They are unknown without a thread (0), for one that ended, and for one whose file-system ids differ from the request's. Such
    /// a request acts with borrowed credentials (io_uring personalities, overlayfs, nfsd).
    ///
    /// - Parameters:
    ///   - tid: the thread that sent the request.
    ///   - uid: the uid of the request.
    ///   - gid: the gid of the request.
    ///   - request: the number of the request, unique for this cache; 0 = none. It gets the same answer each time.
    ///   - realIDsCount: the request may belong to access(2), which has the real ids and the same groups.
    public func groups(
        tid: Int32, uid: UInt32, gid: UInt32, request: UInt64 = 0, realIDsCount: Bool = false
    ) -> ThreadGroups? {
        guard tid > 0, uid != .max, gid != .max else { return nil }
        // By its real ids a thread may ask as another one of the same ids does, but with other capabilities.
        let plain = Key(tid: tid, uid: uid, gid: gid, realIDsCount: false)
        let real = Key(tid: tid, uid: uid, gid: gid, realIDsCount: true)
        let now = SystemTime.monotonic()
        if let kept = kept(plain, now, request), !realIDsCount || kept != nil { return kept }
        if realIDsCount, let kept = kept(real, now, request) { return kept }
        // The lock is not held here: two threads may read the same list, which is harmless.
        guard
            let status = try? ThreadIdentity.read(
                tid: tid, capabilities: capabilitiesCount ? Capabilities.all.rawValue : 0, isSubordinate: subordinateGroups.areUsers),
            let list = status.groups,
            (status.fsuid, status.fsgid) == (uid, gid)
                || realIDsCount && (status.ruid, status.rgid) == (uid, gid)
        else {
            if request != 0 { keep(Entry(groups: nil, expiry: 0, request: request), for: realIDsCount ? real : plain, now: now) }
            return nil
        }
        let isItself = (status.fsuid, status.fsgid) == (uid, gid)
        // access(2) by other ids than the effective ones has the permitted capabilities of root, and none of another user.
        let capabilities = isItself ? status.effective : uid == 0 ? status.permitted : 0
        let groups = ThreadGroups(
            list: list, namespace: status.namespace, lent: uid == 0 && status.namespace != .own ? lent : [],
            capabilities: capabilitiesCount ? Capabilities(rawValue: capabilities).intersection(.all) : [])
        if lifetime > 0 || request != 0 {
            keep(Entry(groups: groups, expiry: now + lifetime, request: request), for: isItself ? plain : real, now: now)
        }
        return groups
    }

    /// - Returns: nil if nothing is kept; `.some(nil)` if this request could not read them before.
    private func kept(_ key: Key, _ now: UInt64, _ request: UInt64) -> ThreadGroups?? {
        guard lifetime > 0 || request != 0 else { return nil }
        return entries.withLock { entries in
            guard let index = entries.index(forKey: key) else { return nil }
            let entry = entries.values[index]
            if request != 0, entry.request == request { return .some(entry.groups) }
            guard entry.expiry > now else { return nil }
            if request != 0 { entries.values[index].request = request }
            return .some(entry.groups)
        }
    }

    /// Asks the directory service for the user's groups. It may wait: call it before the request takes any lock.
    /// - Parameter tid: the thread of the request; 0 = unknown.
    public func prepare(uid: UInt32, tid: Int32 = 0) {
        if let directory { directory.learn(uid, for: persons.payer(of: uid, tid: tid)) }
    }

    /// Whether a list has a group; nil = unknown. The overflow gid stands for every group without a number in the user namespace of
    /// the daemon.
    func contains(_ groups: [UInt32], _ gid: UInt32) -> Bool? {
        gid == unmapped && groups.contains(gid) ? nil : groups.contains(gid)
    }

    /// Membership of a thread; nil = unknown. A group that it may have left may be what a deny is about.
    func contains(_ groups: ThreadGroups, _ gid: UInt32) -> Bool? {
        contains(groups.list, gid).flatMap { $0 || groups.isComplete ? $0 : nil }
    }

    private func keep(_ entry: Entry, for key: Key, now: UInt64) {
        entries.withLock { entries in
            if entries.count >= limit, entries[key] == nil {
                entries = entries.filter { $0.value.expiry > now }
                if entries.count >= limit { entries.removeAll() }
            }
            entries[key] = entry
        }
    }
}

/// The supplementary groups and capabilities of a thread.
public struct ThreadGroups: Hashable, Sendable {
    public var list: [UInt32]
    let namespace: CallerNamespace
    /// Those that count over the whole file system although the namespace is another.
    let lent: Capabilities
    let capabilities: Capabilities

    static let none = ThreadGroups(list: [], namespace: .own, lent: [], capabilities: [])

    /// The capabilities that count over an object, as the kernel has it: in another user namespace those over objects whose owner and group
    /// it maps, and CAP_FOWNER if it maps the owner.
    /// - Parameter object: nil: over the whole file system.
    func capabilities(over object: ObjectFacts?) -> Capabilities {
        if !lent.isEmpty { return lent }
        guard case .other = namespace, !capabilities.isEmpty else { return capabilities }
        guard let object, object.ownerGUID == nil, reaches(user: object.owner, group: nil) else { return [] }
        let hasGroup = object.groupGUID == nil && reaches(user: nil, group: object.group)
        return hasGroup ? capabilities.subtracting(.ofSystem) : capabilities.intersection(.fowner)
    }

    /// Whether the thread's user namespace has these ids.
    func reaches(user uid: UInt32?, group gid: UInt32?) -> Bool {
        guard lent.isEmpty, case .other(let other) = namespace else { return true }
        func has(_ ranges: [ClosedRange<UInt32>], _ id: UInt32?) -> Bool { id.map { id in ranges.contains { $0.contains(id) } } ?? true }
        return has(other.users, uid) && has(other.groups, gid)
    }

    var isInOwnNamespace: Bool { namespace == .own || !lent.isEmpty }

    /// Whether the thread has left no group in a user namespace of its own.
    public var isComplete: Bool {
        switch namespace {
        case .own: true
        case .other(let other): other.keepsGroups
        }
    }

    /// Who made the thread's user namespace; nil: it is the daemon's, or that is unknown.
    var maker: UInt32? { if case .other(let other) = namespace { other.maker } else { nil } }
}
