// What a POSIX ACL of the backing object grants (docs/reference/authorization.md Q22).

extension Inquiry {
    /// Decides as POSIX.1e does: the owner; a user that an entry names; the groups, of which one that grants is enough; the others.
    /// The mask limits users and groups. With an unknown membership every possible answer must grant the bits (1.4).
    // Not inlined: few objects have a list, and every decision passes here.
    @inline(never)
    mutating func posixDecision(
        _ bits: UInt16, _ object: ObjectFacts, _ list: PosixACL, as role: ObjectRole, owner: Membership
    ) -> Decision {
        if owner != .notMember {
            let isGranted = object.mode.grants(bits, to: .owner)
            if owner == .member || !isGranted {
                return isGranted ? .allow(.mode(.owner, role)) : .deny(.EACCES, .mode(.owner, role))
            }
        }
        if list.isUnreadable { return .deny(.EACCES, .mode(.group, role)) }
        if let index = list.entries.firstIndex(where: { $0.subject == .user(credential.uid) }), credential.uid != .max {
            observer.posixEntry(role, index)
            return list.entries[index].grants(bits, on: object) ? .allow(.mode(.group, role)) : .deny(.EACCES, .mode(.group, role))
        }
        for index in list.entries.indices {
            guard case .user(let uid) = list.entries[index].subject, !list.entries[index].grants(bits, on: object),
                credential.membership(ofUser: uid) == .unknown
            else { continue }
            observer.posixEntry(role, index)
            return .deny(.EACCES, .mode(.group, role))
        }
        return posixGroups(bits, object, list, as: role)
    }

    private mutating func posixGroups(_ bits: UInt16, _ object: ObjectFacts, _ list: PosixACL, as role: ObjectRole) -> Decision {
        let others = object.mode.grants(bits, to: .other)
        // All classes grant, so no membership needs to be looked up.
        if others, !O.wantsExactStages, list.entries.allSatisfy({ $0.subject.isUser || $0.grants(bits, on: object) }) {
            return .allow(.mode(.other, role))
        }
        var refusing: Int?
        for index in list.entries.indices {
            let entry = list.entries[index]
            let membership: Membership
            switch entry.subject {
            case .user: continue
            case .owningGroup: membership = groupMembership(of: object)
            case .group(let gid): membership = credential.membership(inGroup: gid)
            }
            if membership == .notMember { continue }
            guard entry.grants(bits, on: object) else {
                refusing = refusing ?? index
                continue
            }
            if membership == .member {
                observer.posixEntry(role, index)
                return .allow(.mode(.group, role))
            }
        }
        if let refusing {
            observer.posixEntry(role, refusing)
            return .deny(.EACCES, .mode(.group, role))
        }
        return others ? .allow(.mode(.other, role)) : .deny(.EACCES, .mode(.other, role))
    }
}

extension PosixACL {
    /// Whether every entry grants these bits, with the mask applied.
    func grantsAll(_ bits: UInt16, on object: ObjectFacts) -> Bool {
        !isUnreadable && entries.allSatisfy { $0.grants(bits, on: object) }
    }
}

extension PosixACL.Entry {
    /// Whether the entry grants these bits, with the mode's group bits as mask.
    func grants(_ bits: UInt16, on object: ObjectFacts) -> Bool { object.mode.rawValue >> 3 & permissions & bits == bits }
}

extension PosixACL.Subject {
    var isUser: Bool { if case .user = self { true } else { false } }
}
