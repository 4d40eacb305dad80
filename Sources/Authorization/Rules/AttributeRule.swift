// docs/reference/authorization.md 6: which values are legal before any right is checked, and the effects of a change.

extension Inquiry {
    /// The legality of an attribute change's values; nil = legal.
    mutating func illegalChange(_ operation: Operation, _ facts: FactsByRole, isOwner: Bool) -> Decision? {
        guard let object = facts.object else { return nil }
        let illegal = Decision.deny(.EPERM, .attributePolicy)
        if case .chflags(let flags) = operation { return flagsChangeIsLegal(flags, object) ? nil : illegal }
        if volume.ignoresOwnership || !isIllegal(operation, object, isOwner: isOwner) { return nil }
        return capabilitiesPermit(operation, object, isOwner: isOwner) ? nil : illegal
    }

    /// Whether the values are illegal for a caller with these ids and no capability but root's.
    private mutating func isIllegal(_ operation: Operation, _ object: ObjectFacts, isOwner: Bool) -> Bool {
        if credential.isRoot {
            // Root of a container may lack this one. The others are what makes root.
            guard case .chmod(let mode) = operation, mode.contains(.setGroup) else { return false }
            return !credential.capabilities(over: nil).contains(.fsetid)
        }
        switch operation {
        case .chmod(let mode):
            // 6.1: illegal bits are refused, never silently cleared. An unknown membership does not help.
            if mode.contains(.setGroup), groupMembership(of: object) != .member { return true }
            if mode.contains(.setUser), !isOwner { return true }
        case .chown(let uid, let gid):
            if let uid, uid != object.owningUser, uid != credential.uid { return true }
            if let gid, gid != object.owningGroup, credential.membership(inGroup: gid) != .member { return true }
            // Q6: a caller who does not own the object is refused even if the ids do not change, as in POSIX.
            if uid != nil || gid != nil, !isOwner, uid == nil || uid == object.owningUser,
                gid == nil || gid == object.owningGroup
            {
                return true
            }
        case .setOwner(let owner):
            if owner == object.ownerGUID { return !isOwner }
            // 6.3: the caller's own identity, or none.
            if let owner, owner != GUID(user: credential.uid) { return true }
        case .setGroup(let group):
            if group == object.groupGUID { return !isOwner }
            // 6.3: a group of the caller, or none.
            if let group, membership(inGroup: group) != .member { return true }
        case .setTimes(let access, let modification):
            // 6.4: a caller who does not own the object may only set "now".
            if !isOwner, access == .chosen || modification == .chosen { return true }
        default: break
        }
        return false
    }

    /// 6.6 rules 1 to 3: only changed bits count.
    private mutating func flagsChangeIsLegal(_ flags: FileFlags, _ object: ObjectFacts) -> Bool {
        let changed = flags.symmetricDifference(object.flags).subtracting(.synthetic)
        return changed.isSubset(of: .userSettable)
            || changed.isSubset(of: .rootNameable) && credential.capabilities(over: object).contains(.linuxImmutable)
    }
}

/// The effects of attribute changes.
public enum AttributeEffect {
    /// The flags that an allowed chflags stores. Bits that are not supported keep their state.
    ///
    /// - Parameters:
    ///   - requested: the flags in the call.
    ///   - object: the object before the change.
    public static func flags(after requested: FileFlags, on object: ObjectFacts) -> FileFlags {
        let settable = FileFlags.rootSettable
        return requested.intersection(settable).union(object.flags.subtracting(settable))
    }

    /// The mode that an allowed chmod or creation stores. Where ownership is ignored, set-id bits are neither stored nor obeyed
    /// (Q1): otherwise each caller that may change a file would choose its user.
    public static func storedMode(_ mode: FileMode, on volume: VolumeState) -> FileMode {
        volume.ignoresOwnership ? mode.subtracting([.setUser, .setGroup]) : mode
    }

    /// The mode after a chown. A chown that names an id clears both set-id bits, for every caller and every kind of object (6.3).
    ///
    /// An owner or group that is no id counts the same.
    ///
    /// - Parameters:
    ///   - object: the object before the change.
    ///   - uid: the uid in the call; nil = none.
    ///   - gid: the gid in the call; nil = none.
    public static func modeAfterChown(_ object: ObjectFacts, uid: UInt32?, gid: UInt32?) -> FileMode {
        uid == nil && gid == nil ? object.mode : object.mode.subtracting([.setUser, .setGroup])
    }
}
