import Authorization
import Identity
import LinuxSystem

/// A caller that the report has an answer for.
struct ReportSubject {
    enum Kind: Hashable {
        case user(UInt32)
        /// A caller who is in this group, and otherwise like everyone else.
        case group(UInt32)
    }
    var kind: Kind
    /// nil: no account or group has the number.
    var name: String?
    var credential: DirectoryCredential

    var hasUnknownGroups: Bool { credential.groups == nil }
}

/// Every user and group that a class names as owner, as group or in an entry. Root is none of them: it may nearly everything.
struct ReportSubjects {
    private(set) var all: [ReportSubject] = []
    /// A caller that no class names, in no group that a class names.
    let everyoneElse: DirectoryCredential
    /// A caller without an account, whose groups nothing tells; otherwise as `everyoneElse`.
    let withoutAccount: DirectoryCredential
    /// The account databases did not answer about some user.
    private(set) var isIncomplete = false
    private var users: [UInt32: Int] = [:]
    private var groups: [UInt32: Int] = [:]
    /// The users who are in a group, by the group's number.
    private var members: [UInt32: [Int]] = [:]
    /// Users whose groups are unknown: each list with a group may be about them.
    private(set) var unknown: [Int] = []

    /// - Parameters:
    ///   - classes: of the tree and of the directories above it.
    ///   - accounts: gives names and groups.
    init(of classes: [ObjectClass], from accounts: some AccountSource) {
        var named = (users: Set<UInt32>(), groups: Set<UInt32>())
        for item in classes {
            for principal in item.principals {
                switch principal {
                case .user(let uid): named.users.insert(uid)
                case .group(let gid): named.groups.insert(gid)
                case .everyone, .owner, .owningGroup, .nobody, .other: break
                }
            }
        }
        // Numbers that are not asked about anywhere.
        var free = (UInt32(0x8000_0000)...).lazy.filter { !named.users.contains($0) }.makeIterator()
        everyoneElse = DirectoryCredential(uid: free.next() ?? 0x8000_0000, gid: nil, groups: [])
        withoutAccount = DirectoryCredential(uid: free.next() ?? 0x8000_0001, gid: nil, groups: nil)
        let freeUser = everyoneElse.uid
        for gid in named.groups.subtracting([.max, ObjectFacts.notAnID]).sorted() {
            groups[gid] = all.count
            all.append(
                ReportSubject(
                    kind: .group(gid), name: (try? accounts.group(gid: gid))?.name,
                    credential: DirectoryCredential(uid: freeUser, gid: nil, groups: [gid])))
        }
        for uid in named.users.subtracting([0, .max, ObjectFacts.notAnID]).sorted() { addUser(uid, accounts) }
    }

    private mutating func addUser(_ uid: UInt32, _ accounts: some AccountSource) {
        var subject = ReportSubject(kind: .user(uid), name: nil, credential: DirectoryCredential(uid: uid, gid: nil, groups: nil))
        do throws(Errno) {
            if let account = try accounts.user(uid: uid) {
                subject.name = account.name
                subject.credential = DirectoryCredential(uid: uid, gid: account.gid, groups: try accounts.groups(ofUser: uid))
            }
        } catch { isIncomplete = true }
        users[uid] = all.count
        if let list = subject.credential.groups {
            for gid in Set(list + [subject.credential.gid].compactMap { $0 }) { members[gid, default: []].append(all.count) }
        } else {
            unknown.append(all.count)
        }
        all.append(subject)
    }

    /// The subjects about whom a class says something of their own. All others get the answer of `everyoneElse` or `withoutAccount`.
    func namedBy(_ item: ObjectClass) -> Set<Int> {
        var found: Set<Int> = []
        for principal in item.principals {
            switch principal {
            case .user(let uid): if let index = users[uid] { found.insert(index) }
            case .group(let gid):
                if let index = groups[gid] { found.insert(index) }
                found.formUnion(members[gid] ?? [])
            case .everyone, .owner, .owningGroup, .nobody, .other: break
            }
        }
        return found
    }

    /// The users in a group.
    func members(of gid: UInt32) -> [Int] { members[gid] ?? [] }

    /// Whether a user is in a group.
    func isMember(_ uid: UInt32, of gid: UInt32) -> Bool {
        users[uid].map { all[$0].credential.membership(inGroup: gid) == .member } ?? false
    }

    /// Whether an account or group has the number of an identity.
    func isKnown(_ principal: Principal) -> Bool {
        switch principal {
        case .user(let uid): uid == 0 || users[uid].map { all[$0].name != nil } ?? false
        case .group(let gid): groups[gid].map { all[$0].name != nil } ?? false
        case .everyone, .owner, .owningGroup, .nobody: true
        case .other: false
        }
    }
}

extension ObjectClass {
    /// The identities that a decision about the object may ask for.
    var principals: [Principal] {
        var found: [Principal] = entries.map { Principal($0.guid) }
        found.append(facts.ownerGUID.map { Principal($0) } ?? .user(facts.owner))
        found.append(facts.groupGUID.map { Principal($0) } ?? .group(facts.group))
        for entry in facts.posixACL?.entries ?? [] {
            switch entry.subject {
            case .user(let uid): found.append(.user(uid))
            case .group(let gid): found.append(.group(gid))
            case .owningGroup: break
            }
        }
        return found
    }
}
