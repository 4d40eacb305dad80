// Short forms for `StatedVectors`.

extension Vector {
    init(
        _ id: String, _ title: String, _ cred: VectorCred, _ op: VectorOp, _ expect: VectorExpect, parent: VectorNode,
        object: VectorNode? = nil, targetParent: VectorNode? = nil, target: VectorNode? = nil, readOnly: Bool = false
    ) {
        self.init(id: id, title: title, cred: cred, op: op)
        (self.parent, self.object, self.targetParent, self.target) = (parent, object, targetParent, target)
        self.expect = expect
        volume.readOnly = readOnly
    }
}

extension VectorCred {
    static let root = VectorCred(uid: 0, gid: 0, groups: [0, 12])
    static let alice = VectorCred(uid: 501, gid: 20, groups: [20, 12, 600])
    static let bob = VectorCred(uid: 502, gid: 20, groups: [20, 12, 601])
}

extension VectorNode {
    static func file(_ owner: UInt32, _ group: UInt32, _ mode: UInt16, _ flags: [String] = [], acl: [VectorEntry]? = nil) -> VectorNode {
        VectorNode(type: "file", owner: owner, group: group, mode: mode, flags: flags, acl: acl)
    }
    static func dir(_ owner: UInt32, _ group: UInt32, _ mode: UInt16, _ flags: [String] = [], acl: [VectorEntry]? = nil) -> VectorNode {
        VectorNode(type: "dir", owner: owner, group: group, mode: mode, flags: flags, acl: acl)
    }
}

extension VectorEntry {
    static func allow(_ who: String, _ rights: String..., flags: [String] = []) -> VectorEntry {
        VectorEntry(who: who, kind: "allow", rights: rights, flags: flags)
    }
    static func deny(_ who: String, _ rights: String..., flags: [String] = []) -> VectorEntry {
        VectorEntry(who: who, kind: "deny", rights: rights, flags: flags)
    }
}

extension VectorOp {
    static func open(_ flags: String...) -> VectorOp { with("open") { $0.flags = flags } }
    static func access(_ mode: String...) -> VectorOp { with("access") { $0.accessMode = mode } }
    static func chmod(_ mode: UInt16) -> VectorOp { with("chmod") { $0.mode = Octal(mode) } }
    static func chown(uid: UInt32? = nil, gid: UInt32? = nil) -> VectorOp { with("chown") { ($0.uid, $0.gid) = (uid, gid) } }
    static func utimes(_ times: String) -> VectorOp { with("utimes") { $0.times = times } }
    static func chflags(_ flags: String...) -> VectorOp { with("chflags") { $0.flags = flags } }
    static func xattr(_ call: String, _ name: String) -> VectorOp { with(call) { $0.name = name } }
    static func new(_ call: String, _ mode: UInt16, umask: UInt16? = nil, type: String? = nil) -> VectorOp {
        with(call) { ($0.mode, $0.umask, $0.type) = (Octal(mode), umask.map { Octal($0) }, type) }
    }
    /// A call without arguments.
    static func plain(_ call: String) -> VectorOp { VectorOp(call) }

    private static func with(_ call: String, _ change: (inout VectorOp) -> Void) -> VectorOp {
        var op = VectorOp(call)
        change(&op)
        return op
    }
}

extension VectorExpect {
    static func allow(
        _ stage: String, owner: UInt32? = nil, group: UInt32? = nil, mode: UInt16? = nil, flags: [String]? = nil, acl: VectorACL? = nil
    ) -> VectorExpect {
        if owner == nil, group == nil, mode == nil, flags == nil, acl == nil {
            return VectorExpect(result: "allow", errno: nil, stage: stage, effects: nil)
        }
        var effects = VectorEffects()
        (effects.owner, effects.group, effects.mode) = (owner, group, mode.map { Octal($0) })
        (effects.flags, effects.acl) = (flags, acl)
        return VectorExpect(result: "allow", errno: nil, stage: stage, effects: effects)
    }
    static func deny(_ errno: String, _ stage: String) -> VectorExpect {
        VectorExpect(result: "deny", errno: errno, stage: stage, effects: nil)
    }
}
