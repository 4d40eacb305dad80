/// The rights that every credential able to reach the mount would be granted on this object
/// (docs/coherence.md): no deny that could apply names them, and an `everyone` entry or all three mode
/// classes give them, with whatever a POSIX ACL of the object names. Conservative: a right that is universal may be missing, none is there wrongly.
public func universalRights(of object: ObjectFacts, on volume: VolumeState) -> Rights {
    var denied: Rights = []
    var allowed: Rights = []
    if !volume.ignoresACLs, let acl = object.acl {
        for entry in acl.entries where !entry.flags.contains(.onlyInherit) {
            let rights = entry.rights.expandingGenericRights
            switch entry.kind {
            // Whomever a deny names, somebody is refused; only `nobody` never applies.
            case .deny where Principal(entry.guid) != .nobody: denied.formUnion(rights)
            case .allow where Principal(entry.guid) == .everyone: allowed.formUnion(rights)
            default: break
            }
        }
    }
    if !volume.ignoresOwnership {
        for (bit, rights) in [
            (UInt16(0o444), [Rights.read, .readExtendedAttributes] as Rights),
            (0o111, .execute),
        ] where object.mode.rawValue & bit == bit && object.posixACL?.grantsAll(bit & 7, on: object) ?? true {
            allowed.formUnion(rights)
        }
        // Reading attributes needs no bit (docs/authorization.md 3.9).
        allowed.formUnion([.readAttributes, .readSecurity])
    } else {
        (allowed, denied) = ([.read, .readExtendedAttributes, .execute, .readAttributes, .readSecurity], [])
    }
    // Neither root nor anybody else executes what has no execute bit at all or lies on a volume that
    // forbids it (3.4 step 4, 3.5), whatever an entry allows.
    if object.kind == .file, volume.forbidsExecution || object.mode.isDisjoint(with: .anyExecute) {
        allowed.remove(.execute)
    }
    // Root is never refused by an entry, so a deny takes nothing from him; but one is enough for others.
    return allowed.subtracting(denied)
}

/// Everybody who can reach a mount that only one user can reach: that user, with any supplementary groups.
public struct SoleUser: Credential, Sendable, Hashable {
    public let uid: UInt32
    public let gid: UInt32
    public var effectiveGroup: UInt32? { gid }
    public init(uid: UInt32, gid: UInt32) { (self.uid, self.gid) = (uid, gid) }

    public func membership(inGroup gid: UInt32) -> Membership { gid == self.gid ? .member : .unknown }
    public func membership(of guid: GUID) -> Membership { .unknown }
}
