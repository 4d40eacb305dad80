/// How a scan of a list ended.
enum ScanResult {
    /// Every requested right was allowed, by the entry at this index last.
    case allowed(Int)
    case denied(Int)
    /// The list ended with these rights undecided; `lastAllowing` is the last entry that allowed a right.
    case undecided(Rights, lastAllowing: Int?)
}

extension Inquiry {
    /// The scan of docs/reference/authorization.md 3.7. A deny applies to everything *requested*, an allow only to what is still
    /// *outstanding*.
    mutating func scan(_ requested: Rights, _ object: ObjectFacts, as role: ObjectRole) -> ScanResult {
        guard !volume.ignoresACLs, let entries = object.acl?.entries else {
            return .undecided(requested, lastAllowing: nil)
        }
        var outstanding = requested
        var lastAllowing: Int?
        for index in entries.indices {
            let entry = entries[index]
            // One test for kind and inheritance: the loop runs for each entry of a long list.
            let kind: ACE.Kind
            switch entry.flagsWord & (0xF | ACEFlags.onlyInherit.rawValue) {
            case ACE.Kind.allow.rawValue: kind = .allow
            case ACE.Kind.deny.rawValue: kind = .deny
            default:
                observer.entryConsidered(
                    role, index, entry, applied: entry.flags.contains(.onlyInherit) ? .inheritOnly : .reservedKind)
                continue
            }
            let named = entry.rights.expandingGenericRights
            let relevant = named.intersection(kind == .allow ? outstanding : requested)
            if relevant.isEmpty {
                // An entry about others says nothing of the caller, whatever it names.
                let isOfOthers = O.wantsExactStages && !applies(entry.guid, kind, object)
                observer.entryConsidered(role, index, entry, applied: isOfOthers ? .notCovered : .irrelevant)
                continue
            }
            guard applies(entry.guid, kind, object) else {
                observer.entryConsidered(role, index, entry, applied: .notCovered)
                continue
            }
            if kind == .deny {
                observer.entryConsidered(role, index, entry, applied: .denied(relevant))
                return .denied(index)
            }
            observer.entryConsidered(role, index, entry, applied: .allowed(relevant))
            outstanding.subtract(named)
            lastAllowing = index
            if outstanding.isEmpty { return .allowed(index) }
        }
        return .undecided(outstanding, lastAllowing: lastAllowing)
    }

    /// Whether an entry applies to the caller (1.4). With an unknown membership an allow does not apply and a deny does. Inlined,
    /// because it runs for each entry of a long list.
    @inline(__always)
    private mutating func applies(_ guid: GUID, _ kind: ACE.Kind, _ object: ObjectFacts) -> Bool {
        let membership: Membership =
            switch Principal(guid) {
            case .everyone: .member
            case .nobody: .notMember
            case .owner: ownership(of: object)
            case .owningGroup: groupMembership(of: object)
            case .user(let uid): credential.membership(ofUser: uid)
            case .group(let gid): credential.membership(inGroup: gid)
            case .other(let guid): credential.membership(of: guid)
            }
        return membership == .member || membership == .unknown && kind == .deny
    }

    /// Whether the caller owns the object. If a group owns it, each of its members is an owner (Q5).
    public mutating func ownership(of object: ObjectFacts) -> Membership {
        if let guid = object.ownerGUID {
            switch Principal(guid) {
            case .user(let uid): return uid == credential.uid && uid != .max ? .member : .notMember
            case .other(let guid): return credential.membership(of: guid)
            default: return membership(inGroup: guid)
            }
        }
        if volume.unknown99, object.owner == 99, credential.uid != 0 { return .member }
        return object.owner == credential.uid && object.owner != .max ? .member : .notMember
    }

    /// Whether the caller belongs to the object's group.
    mutating func groupMembership(of object: ObjectFacts) -> Membership {
        if let guid = object.groupGUID { return membership(inGroup: guid) }
        if volume.unknown99, object.group == 99, credential.uid != 0 { return .member }
        return credential.membership(inGroup: object.group)
    }

    /// Whether the caller belongs to an identity that is the group of an object, or a group that owns it. A user is no group. The
    /// well-known identities refer to the owner and group, and cannot be either.
    mutating func membership(inGroup guid: GUID) -> Membership {
        switch Principal(guid) {
        case .group(let gid): credential.membership(inGroup: gid)
        case .other(let guid):
            if case .user = credential.translation(of: guid) { .notMember } else { credential.membership(of: guid) }
        case .user, .everyone, .owner, .owningGroup, .nobody: .notMember
        }
    }
}
