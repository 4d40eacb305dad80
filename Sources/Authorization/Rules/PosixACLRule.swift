// What a POSIX ACL of the backing object grants (docs/authorization.md Q22).

extension Inquiry {
    /// The class of POSIX.1e: the owner; a user that an entry names; the groups, of which one that grants is enough; the others.
    /// Bits of the second and third are cut by the mask. What cannot be learned helps no caller: the answer has to be yes
    /// whatever it is (1.4).
    // Not inlined: nearly no object has a list, and every decision comes by.
    @inline(never)
    mutating func posixDecision(
        _ bits: UInt16, _ object: ObjectFacts, _ list: PosixACL, as role: NodeRole, owner: Membership
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
        return posixGroups(bits, object, list, as: role)
    }

    private mutating func posixGroups(_ bits: UInt16, _ object: ObjectFacts, _ list: PosixACL, as role: NodeRole) -> Decision {
        let others = object.mode.grants(bits, to: .other)
        // All agree: who the caller is does not matter, so no membership is asked.
        if !O.wantsExactStages, list.entries.allSatisfy({ $0.subject.isUser || $0.grants(bits, on: object) == others }) {
            return others ? .allow(.mode(.other, role)) : .deny(.EACCES, .mode(.other, role))
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
    /// Whether everybody whom it names has these bits, the mask considered.
    func grantsAll(_ bits: UInt16, on object: ObjectFacts) -> Bool {
        !isUnreadable && entries.allSatisfy { $0.grants(bits, on: object) }
    }
}

extension PosixACL.Entry {
    /// The mask is the mode's group bits.
    func grants(_ bits: UInt16, on object: ObjectFacts) -> Bool { object.mode.rawValue >> 3 & permissions & bits == bits }
}

extension PosixACL.Subject {
    var isUser: Bool { if case .user = self { true } else { false } }
}
