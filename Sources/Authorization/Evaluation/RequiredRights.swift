/// One question about one object: the rights that the caller needs, and the directory that decides with it when `delete` is among
/// them.
public struct Check: Sendable, Hashable {
    public var role: ObjectRole
    public var rights: Rights
    public var parentRole: ObjectRole?
    /// The check belongs to an attribute change. A read-only volume refuses it for every kind of object, even with no rights to
    /// check (docs/reference/authorization.md 9a.1).
    public var changesAttributes = false
    /// The check belongs to a change of flags. The object's own flags do not forbid it, as far as securelevel allows.
    public var changesFlags = false
    /// The check belongs to a change of the owner or the group.
    public var changesOwner = false

    /// - Parameters:
    ///   - rights: the rights that the caller needs; empty if the check asks about volume and flags only.
    ///   - role: the object on which the caller needs them.
    ///   - parentRole: the directory that decides with the object about `delete`.
    public init(_ rights: Rights, on role: ObjectRole, within parentRole: ObjectRole? = nil) {
        (self.rights, self.role, self.parentRole) = (rights, role, parentRole)
    }
}

/// The checks of one operation in the order in which they are made; at most five.
public struct CheckList: Sendable {
    @usableFromInline var storage: (Check?, Check?, Check?, Check?, Check?)
    public init(_ a: Check, _ b: Check? = nil, _ c: Check? = nil, _ d: Check? = nil, _ e: Check? = nil) {
        storage = (a, b, c, d, e)
    }
    /// The check at an index; nil after the last one.
    @inlinable public subscript(index: Int) -> Check? {
        switch index {
        case 0: storage.0
        case 1: storage.1
        case 2: storage.2
        case 3: storage.3
        case 4: storage.4
        default: nil
        }
    }
}

/// The rows of docs/reference/authorization.md 2.2 with one check of one object that does not depend on its state: nearly all requests. They
/// set no value that could be illegal. nil = the operation has several checks, or one that depends on more.
@inline(__always)
func onlyCheck(of operation: Operation, _ kind: ObjectKind?, isWithinParent: @autoclosure () -> Bool) -> Check? {
    switch operation {
    case .lookup: Check(.search, on: .object)
    case .open(let intent): Check(rights(toOpen: intent), on: .object)
    case .execute: Check(.execute, on: .object)
    case .access(let mask): Check(rights(toAccess: mask, kind), on: .object)
    case .list: Check(.list, on: .object)
    case .stat, .readACL: Check([.readAttributes, .readSecurity], on: .object)
    case .readFlags: Check(.readAttributes, on: .object)
    case .readLink: Check(.read, on: .object)
    case .getXattr, .listXattr: Check(.readExtendedAttributes, on: .object)
    case .setXattr, .removeXattr: Check(.writeExtendedAttributes, on: .object)
    case .unlink, .removeDirectory: Check(.delete, on: .object, within: .parent)
    case .rights(let rights): Check(rights, on: .object, within: isWithinParent() ? .parent : nil)
    default: nil
    }
}

/// The table of docs/reference/authorization.md 2.2: operation to required rights, in order, without the rows of `onlyCheck`.
/// nil = unmapped, denied. `isRoot` and `isOwner` matter to two rows only (chown and times); who may
/// change owners counts as root in the first.
func requiredRights(for operation: Operation, facts: FactsByRole, isRoot: Bool, isOwner: Bool) -> CheckList? {
    let kind = facts.object?.kind
    switch operation {
    case .truncate: return CheckList(Check(.write, on: .object))
    case .create(let request): return CheckList(Check(rightToAdd(request.kind), on: .parent))
    case .link:
        return CheckList(
            Check(.linkTarget, on: .object),
            Check(.addFile, on: facts.targetParent == nil ? .parent : .targetParent))
    case .rename: return renameChecks(facts)
    case .exchange: return exchangeChecks(facts)
    case .chmod: return attributeChange(.writeSecurity)
    // Section 6.2: a list equal to the stored one needs no right.
    case .setACL(let acl): return attributeChange(acl == facts.object?.acl ? [] : .writeSecurity)
    case .chown(let uid, let gid):
        return ownerChange(uid: uid, gid: gid, of: facts.object, isRoot: isRoot)
    case .setOwner(let owner):
        return identityChange(owner != facts.object?.ownerGUID ? .changeOwner : nil, isRoot: isRoot)
    case .setGroup(let group):
        return identityChange(group != facts.object?.groupGUID ? .writeSecurity : nil, isRoot: isRoot)
    case .setTimes(let access, let modification):
        if access == .omit, modification == .omit { return CheckList(Check([], on: .object)) }
        // Section 6.4: for owner and root the flags are checked as well, for others the right only.
        return attributeChange(isRoot || isOwner ? [.writeAttributes, .checkImmutable] : .writeAttributes)
    case .chflags(let flags):
        let changed = facts.object.map { $0.flags.symmetricDifference(flags).subtracting(.synthetic) } ?? []
        var check = Check(changed.isEmpty ? [] : .writeSecurity, on: .object)
        check.changesAttributes = true
        check.changesFlags = true
        return CheckList(check)
    case .clone:
        return CheckList(
            Check(rightToAdd(kind ?? .file), on: facts.targetParent == nil ? .parent : .targetParent),
            Check([.read, .readAttributes, .readExtendedAttributes, .readSecurity], on: .object))
    case .exchangeData: return CheckList(Check([.read, .write], on: .object), Check([.read, .write], on: .target))
    case .unmapped: return nil
    case .lookup, .open, .execute, .access, .list, .stat, .readACL, .readFlags, .readLink, .getXattr, .listXattr, .setXattr,
        .removeXattr, .unlink, .removeDirectory, .rights:
        return onlyCheck(of: operation, kind, isWithinParent: facts.parent != nil).map { CheckList($0) }
    }
}

private func rights(toOpen intent: OpenIntent) -> Rights {
    if intent.contains(.execute) { return .execute }
    var rights: Rights = []
    if intent.contains(.read) { rights.insert(.read) }
    if intent.contains(.truncate) {
        rights.insert(.write)
    } else if intent.contains(.write) {
        // Opening for append needs append *instead of* write.
        rights.insert(intent.contains(.append) ? .append : .write)
    }
    return rights
}

private func rights(toAccess mask: AccessMask, _ kind: ObjectKind?) -> Rights {
    var rights: Rights = []
    if mask.contains(.read) { rights.insert(.read) }
    if mask.contains(.write) {
        rights.formUnion(kind == .directory ? [.addFile, .addSubdirectory] : .write)
    }
    if mask.contains(.execute) { rights.insert(.execute) }
    return rights
}

/// - Returns: the right on a directory that is needed to add an object of this kind.
public func rightToAdd(_ kind: ObjectKind) -> Rights { kind == .directory ? .addSubdirectory : .addFile }

private func attributeChange(_ rights: Rights) -> CheckList {
    var check = Check(rights, on: .object)
    check.changesAttributes = true
    return CheckList(check)
}

private func ownerChange(uid: UInt32?, gid: UInt32?, of object: ObjectFacts?, isRoot: Bool) -> CheckList {
    if uid == nil, gid == nil { return CheckList(Check([], on: .object)) }
    if let uid, uid != object?.owningUser { return identityChange(.changeOwner, isRoot: isRoot) }
    if let gid, gid != object?.owningGroup { return identityChange(.writeSecurity, isRoot: isRoot) }
    return identityChange(nil, isRoot: isRoot)
}

/// nil: nothing changes. Root's flags are checked nevertheless; other callers need no right (6.3).
private func identityChange(_ right: Rights?, isRoot: Bool) -> CheckList {
    var check = Check(right ?? (isRoot ? .checkImmutable : []), on: .object)
    (check.changesAttributes, check.changesOwner) = (true, true)
    return CheckList(check)
}
