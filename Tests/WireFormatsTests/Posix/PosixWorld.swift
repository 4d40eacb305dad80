import Authorization
import WireFormats

/// A few users and groups, and what POSIX.1e decides about them.
struct PosixWorld {
    static let owner: UInt32 = 500
    static let owningGroup: UInt32 = 20
    static let users: [UInt32] = [501, 502]
    static let groups: [UInt32] = [600, 601]

    /// The owner, both users and another one, in every set of the three groups.
    static let callers: [KnownCredential] = [owner, 501, 502, 505].flatMap { uid in
        (0..<8).map { set in
            let groups = ([owningGroup] + Self.groups).enumerated().filter { set & 1 << $0.offset != 0 }.map(\.element)
            return KnownCredential(uid: uid, gid: 1000 + uid, groups: groups)
        }
    }

    /// The decision of POSIX.1e 23.1.5, written from the text and not from the translation.
    static func allows(_ request: UInt16, _ list: PosixList, _ caller: KnownCredential) -> Bool {
        if caller.uid == owner { return list.owner & request == request }
        if let entry = list.users.first(where: { $0.id == caller.uid }) { return entry.permissions & (list.mask ?? 7) & request == request }
        var isMember = false
        for (gid, permissions) in [(owningGroup, list.group)] + list.groups.map({ ($0.id, $0.permissions) })
        where caller.membership(inGroup: gid) == .member {
            isMember = true
            if permissions & (list.mask ?? 7) & request == request { return true }
        }
        return !isMember && list.other & request == request
    }

    /// The object that a translated list makes.
    static func object(_ list: PosixList, _ use: PosixTranslation.Use, special: UInt16 = 0) throws(PosixRefusal) -> ObjectFacts {
        let translation = try PosixTranslation(list, for: use)
        let mode = special | list.owner << 6 | translation.groupBits << 3 | list.other
        return ObjectFacts(
            kind: use == .file ? .file : .directory, owner: owner, group: owningGroup, mode: FileMode(rawValue: mode),
            acl: translation.entries.isEmpty ? nil : ACL(translation.entries))
    }

    static func allows(_ operation: Operation, _ caller: KnownCredential, _ object: ObjectFacts, within parent: ObjectFacts? = nil) -> Bool
    {
        var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(operation, FactsByRole(object: object, parent: parent)).isAllowed
    }
}
