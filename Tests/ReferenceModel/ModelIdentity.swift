// docs/reference/authorization.md 1.4: who the caller is and what covers him.

enum Membership {
    case member, notMember, unknown
}

/// The identity in force for one request.
struct Subject {
    var uid: UInt32
    var gid: UInt32
    var groups: [UInt32]
    var directoryOptOut: Bool
    var groupsUnknown: Bool
    var capabilities: Set<String>
    var directory: ModelDirectory

    init(effective credential: ModelCredential, directory: ModelDirectory) {
        uid = credential.uid
        gid = credential.gid
        groups = credential.groups
        directoryOptOut = credential.directoryOptOut
        groupsUnknown = credential.groupsUnknown
        capabilities = credential.capabilities ?? (credential.uid == 0 ? allCapabilities : [])
        self.directory = directory
    }

    /// 2.2 access, 9a.2: the real gid takes the place of the effective one, which then counts only if
    /// it is in the supplementary list.
    init(real credential: ModelCredential, directory: ModelDirectory) {
        self.init(effective: credential, directory: directory)
        uid = credential.ruid
        capabilities = credential.capabilities ?? (uid == 0 ? allCapabilities : [])
        gid = credential.rgid
    }

    /// 3.5
    var isRoot: Bool { uid == 0 && capabilities.isSuperset(of: ["chown", "dac_override", "fowner"]) }

    /// 1.4 rules 3 and 5.
    func membership(_ group: UInt32) -> Membership {
        if group == gid { return .member }
        if groups.contains(group) { return .member }
        if !directoryOptOut && directoryMember(uid, of: group, visited: []) { return .member }
        // 1.4 rule 4: a failure is not a "no".
        if groupsUnknown { return .unknown }
        return .notMember
    }

    /// Nested groups, to any depth; a group that contains itself is looked at once.
    private func directoryMember(_ user: UInt32, of group: UInt32, visited: Set<UInt32>) -> Bool {
        if visited.contains(group) { return false }
        guard let record = directory.groups[group] else { return false }
        if record.users.contains(user) { return true }
        for nested in record.groups where directoryMember(user, of: nested, visited: visited.union([group])) {
            return true
        }
        return false
    }

    /// 1.4: does an entry for `who` cover the caller, on an object with this owner and group?
    func covered(by who: String, owner: UInt32, group: UInt32) -> Membership {
        // Well-known identities first.
        if who == "everyone" { return .member }
        if who == "nobody" { return .notMember }
        if who == "owner" { return uid == owner ? .member : .notMember }
        if who == "group" { return membership(group) }
        // 1.4 rule 1.
        if let user = number(after: "user:", in: who) { return user == uid ? .member : .notMember }
        // 1.4 rules 2 and 3.
        if let named = number(after: "group:", in: who) { return membership(named) }
        // 1.4 rule 2: no translation, not a group.
        return .notMember
    }

    private func number(after prefix: String, in who: String) -> UInt32? {
        who.hasPrefix(prefix) ? UInt32(who.dropFirst(prefix.count)) : nil
    }
}
