/// The rights that every caller who can reach the mount has on this object (docs/internals/coherence.md): no applicable deny names them, and
/// an `everyone` entry or all three mode classes grant them, as does each entry of a POSIX ACL.
///
/// The result is conservative. A right that every caller has may be missing; a right that a caller lacks is never in it.
public func universalRights(of object: ObjectFacts, on volume: VolumeState) -> Rights {
    var denied: Rights = []
    var allowed: Rights = []
    if !volume.ignoresACLs, let acl = object.acl {
        for entry in acl.entries where !entry.flags.contains(.onlyInherit) {
            let rights = entry.rights.expandingGenericRights
            switch entry.kind {
            // A deny refuses at least one caller, unless it names `nobody`, which never applies.
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
        // Reading attributes needs no bit (docs/reference/authorization.md 3.9).
        allowed.formUnion([.readAttributes, .readSecurity])
    } else {
        (allowed, denied) = ([.read, .readExtendedAttributes, .execute, .readAttributes, .readSecurity], [])
    }
    // No caller, root included, executes a file without any execute bit or on a volume that forbids it (3.4 step 4, 3.5), whatever
    // an entry allows.
    if object.kind == .file, volume.forbidsExecution || object.mode.isDisjoint(with: .anyExecute) {
        allowed.remove(.execute)
    }
    // No entry refuses root, but one that refuses another caller is enough. A capability only adds.
    return allowed.subtracting(denied)
}

/// The only caller on a mount that one user can reach: that user, with any supplementary groups.
public struct SoleUser: Credential, Sendable, Hashable {
    public let uid: UInt32
    public let gid: UInt32
    public var effectiveGroup: UInt32? { gid }
    public init(uid: UInt32, gid: UInt32) { (self.uid, self.gid) = (uid, gid) }

    public func membership(inGroup gid: UInt32) -> Membership { gid == self.gid ? .member : .unknown }
    public func membership(of guid: GUID) -> Membership { .unknown }
    /// The user's processes may have given up any.
    public func capabilities(over object: ObjectFacts?) -> Capabilities { [] }
}
