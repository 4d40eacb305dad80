import Authorization

// The people and objects of the small tests: 501 owns, 502 is a stranger, 20 is everybody's group.

let owner = KnownCredential(uid: 501, gid: 20)
let stranger = KnownCredential(uid: 502, gid: 600)
let root = KnownCredential(uid: 0, gid: 0)

/// A caller of whose groups nothing can be learned.
struct WithUnknownGroups: Credential {
    var uid: UInt32
    func membership(inGroup gid: UInt32) -> Membership { .unknown }
    func membership(of guid: GUID) -> Membership { .unknown }
}

func file(
    _ mode: UInt16 = 0, flags: FileFlags = [], kind: ObjectKind = .file, owner: UInt32 = 501, group: UInt32 = 20,
    _ entries: ACE...
) -> ObjectFacts {
    ObjectFacts(
        kind: kind, owner: owner, group: group, mode: FileMode(rawValue: mode), flags: flags,
        acl: entries.isEmpty ? nil : ACL(entries))
}

func directory(
    _ mode: UInt16 = 0, flags: FileFlags = [], owner: UInt32 = 501, group: UInt32 = 20, _ entries: ACE...
) -> ObjectFacts {
    var facts = file(mode, flags: flags, kind: .directory, owner: owner, group: group)
    facts.acl = entries.isEmpty ? nil : ACL(entries)
    return facts
}

func decide(
    _ operation: Operation, _ object: ObjectFacts? = nil, in parent: ObjectFacts? = nil,
    over target: ObjectFacts? = nil, to targetParent: ObjectFacts? = nil, by caller: some Credential,
    on volume: VolumeState = VolumeState()
) -> Decision {
    var inquiry = Inquiry(caller, on: volume, sandbox: Unconfined(), observer: RecordingObserver())
    return inquiry.authorize(
        operation, FactsByRole(object: object, parent: parent, target: target, targetParent: targetParent))
}
