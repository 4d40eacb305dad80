// docs/authorization.md 6: which values may be set at all, before any right is asked; and what a change does.

extension Inquiry {
    /// The legality of an attribute change's values; nil = legal.
    mutating func illegalChange(_ operation: Operation, _ nodes: Nodes, isOwner: Bool) -> Decision? {
        guard let object = nodes.object else { return nil }
        let illegal = Decision.deny(.EPERM, .attributePolicy)
        if case .chflags(let flags) = operation { return flagsChangeIsLegal(flags, object) ? nil : illegal }
        if credential.isRoot || volume.ignoresOwnership { return nil }
        switch operation {
        case .chmod(let mode):
            // 6.1: never silently cleared. Membership that cannot be learned does not help.
            if mode.contains(.setGroup), groupMembership(of: object) != .member { return illegal }
            if mode.contains(.setUser), !isOwner { return illegal }
        case .chown(let uid, let gid):
            if let uid, uid != object.owningUser, uid != credential.uid { return illegal }
            if let gid, gid != object.owningGroup, credential.membership(inGroup: gid) != .member { return illegal }
            // Q6: a stranger naming the current ids asks for nothing, and is refused as POSIX has it.
            if uid != nil || gid != nil, !isOwner, uid == nil || uid == object.owningUser,
                gid == nil || gid == object.owningGroup
            {
                return illegal
            }
        case .setOwner(let owner):
            if owner == object.ownerGUID { return isOwner ? nil : illegal }
            // 6.3: the own identity, or none.
            if let owner, owner != GUID(user: credential.uid) { return illegal }
        case .setGroup(let group):
            if group == object.groupGUID { return isOwner ? nil : illegal }
            // 6.3: a group of the caller, or none.
            if let group, membership(inGroup: group) != .member { return illegal }
        case .setTimes(let access, let modification):
            // 6.4: a stranger may only set "now".
            if !isOwner, access == .chosen || modification == .chosen { return illegal }
        default: break
        }
        return nil
    }

    /// 6.6 rules 1 to 3: only changed bits are judged.
    private func flagsChangeIsLegal(_ flags: FileFlags, _ object: ObjectFacts) -> Bool {
        let changed = flags.symmetricDifference(object.flags).subtracting(.synthetic)
        return changed.isSubset(of: credential.isRoot ? .rootNameable : .userSettable)
    }
}

/// What attribute changes leave behind.
public enum AttributeEffect {
    /// The flags stored by an allowed chflags: root's change keeps what is supported, drops the rest.
    public static func flags(after requested: FileFlags, on object: ObjectFacts) -> FileFlags {
        let settable = FileFlags.rootSettable
        return requested.intersection(settable).union(object.flags.subtracting(settable))
    }

    /// A mode as an allowed chmod or creation stores it. Where ownership is ignored set-id bits are neither stored nor
    /// honoured (Q1): any caller that may change a file would choose as whom it runs.
    public static func storedMode(_ mode: FileMode, on volume: VolumeState) -> FileMode {
        volume.ignoresOwnership ? mode.subtracting([.setUser, .setGroup]) : mode
    }

    /// Any chown that names an id clears both set-id bits, whoever asks and whatever the kind (6.3).
    ///
    /// An owner or group that is no id counts the same.
    public static func modeAfterChown(_ object: ObjectFacts, uid: UInt32?, gid: UInt32?) -> FileMode {
        uid == nil && gid == nil ? object.mode : object.mode.subtracting([.setUser, .setGroup])
    }
}
