/// How a scan of a list ended.
enum ScanResult {
    /// Everything asked was allowed; the index is that of the last entry that allowed something.
    case allowed(Int)
    case denied(Int)
    /// The end was reached; these rights are still open, and the last entry that allowed something.
    case undecided(Rights, lastAllowing: Int?)
}

extension Inquiry {
    /// The walk of docs/authorization.md 3.7. A deny counts against everything *requested*, granted already
    /// or not; an allow only against what is still *outstanding*.
    mutating func scan(_ requested: Rights, _ object: ObjectFacts, as role: NodeRole) -> ScanResult {
        guard !volume.ignoresACLs, let entries = object.acl?.entries else {
            return .undecided(requested, lastAllowing: nil)
        }
        var outstanding = requested
        var lastAllowing: Int?
        for index in entries.indices {
            let entry = entries[index]
            // Both questions with one look: this runs for each entry of a long list.
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
                observer.entryConsidered(role, index, entry, applied: .irrelevant)
                continue
            }
            guard covers(entry.guid, kind, object) else {
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

    /// Whether an entry speaks of the caller (1.4). What cannot be learned never helps him: an allow
    /// then does not apply, a deny does. Inlined, because it runs for each entry of a long list.
    @inline(__always)
    private mutating func covers(_ guid: GUID, _ kind: ACE.Kind, _ object: ObjectFacts) -> Bool {
        let membership: Membership =
            switch Principal(guid) {
            case .everyone: .member
            case .nobody: .notMember
            case .owner: ownership(of: object)
            case .owningGroup: groupMembership(of: object)
            case .user(let uid): uid == credential.uid && uid != .max ? .member : .notMember
            case .group(let gid): credential.membership(inGroup: gid)
            case .other(let guid): credential.membership(of: guid)
            }
        return membership == .member || membership == .unknown && kind == .deny
    }

    /// Whether the caller owns the object. A group may own it: its members then are owners (Q5).
    mutating func ownership(of object: ObjectFacts) -> Membership {
        if let guid = object.ownerGUID {
            if case .user(let uid) = Principal(guid) {
                return uid == credential.uid && uid != .max ? .member : .notMember
            }
            return membership(inGroup: guid)
        }
        if volume.unknown99, object.owner == 99, !credential.isRoot { return .member }
        return object.owner == credential.uid && object.owner != .max ? .member : .notMember
    }

    mutating func groupMembership(of object: ObjectFacts) -> Membership {
        if let guid = object.groupGUID { return membership(inGroup: guid) }
        if volume.unknown99, object.group == 99, !credential.isRoot { return .member }
        return credential.membership(inGroup: object.group)
    }

    /// Membership in an identity that owns an object or is its group. A user is no group; the well-known identities
    /// cannot own anything: they speak of whoever owns it already.
    mutating func membership(inGroup guid: GUID) -> Membership {
        switch Principal(guid) {
        case .group(let gid): credential.membership(inGroup: gid)
        case .other(let guid): credential.membership(of: guid)
        case .user, .everyone, .owner, .owningGroup, .nobody: .notMember
        }
    }
}
