import Authorization

extension Vector {
    /// The same case with the numbers of a run in place of those of accounts.
    public func renumbered(_ numbers: Numbers) -> Vector {
        var vector = self
        vector.cred.uid = numbers.uid(cred.uid)
        vector.cred.gid = numbers.gid(cred.gid)
        vector.cred.groups = cred.groups.map { numbers.gid($0) }
        vector.cred.ruid = cred.ruid.map { numbers.uid($0) }
        vector.cred.rgid = cred.rgid.map { numbers.gid($0) }
        vector.parent = parent?.renumbered(numbers)
        vector.object = object?.renumbered(numbers)
        vector.targetParent = targetParent?.renumbered(numbers)
        vector.target = target?.renumbered(numbers)
        vector.op.uid = op.uid.map { numbers.uid($0) }
        vector.op.gid = op.gid.map { numbers.gid($0) }
        if var effects = expect?.effects {
            effects.owner = effects.owner.map { numbers.uid($0) }
            effects.group = effects.group.map { numbers.gid($0) }
            if case .present(let entries) = effects.acl { effects.acl = .present(entries.map { $0.renumbered(numbers) }) }
            vector.expect?.effects = effects
        }
        return vector
    }

    /// The process that makes the call.
    public var subject: Subject {
        Subject(uid: cred.uid, gid: cred.gid, groups: cred.groups.sorted(), realUID: cred.ruid, realGID: cred.rgid)
    }
}

extension VectorNode {
    func renumbered(_ numbers: Numbers) -> VectorNode {
        var node = self
        (node.owner, node.group) = (numbers.uid(owner), numbers.gid(group))
        node.acl = acl.map { $0.map { $0.renumbered(numbers) } }
        return node
    }
}

extension VectorEntry {
    func renumbered(_ numbers: Numbers) -> VectorEntry {
        var entry = self
        if who.hasPrefix("user:"), let uid = UInt32(who.dropFirst(5)) {
            entry.who = "user:\(numbers.uid(uid))"
        } else if who.hasPrefix("group:"), let gid = UInt32(who.dropFirst(6)) {
            entry.who = "group:\(numbers.gid(gid))"
        }
        return entry
    }
}
