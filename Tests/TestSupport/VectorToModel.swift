import Conformance
import ReferenceModel

extension VectorEntry {
    public var model: ModelEntry { ModelEntry(who: who, kind: kind, rights: Set(rights), flags: Set(flags)) }
}

extension VectorNode {
    public var model: ModelNode {
        ModelNode(
            type: type, owner: owner, group: group, mode: mode.value, flags: Set(flags), acl: acl?.map(\.model))
    }
}

extension VectorCred {
    public var model: ModelCredential {
        ModelCredential(
            uid: uid, gid: gid, groups: groups, ruid: ruid, rgid: rgid, directoryOptOut: directoryOptOut ?? false,
            groupsUnknown: groupsUnknown ?? false)
    }
}

extension VectorOp {
    public var model: ModelOperation {
        var operation = ModelOperation(call)
        operation.flags = Set(flags ?? [])
        operation.accessMode = Set(accessMode ?? [])
        operation.mode = mode?.value
        operation.umask = umask?.value ?? 0
        operation.type = type
        operation.name = name
        operation.uid = uid
        operation.gid = gid
        operation.times = times
        operation.eaccess = eaccess ?? false
        operation.initialACL = initialACL?.map(\.model)
        operation.initialACLFlags = Set(initialACLFlags ?? [])
        operation.rights = Set(rights ?? [])
        return operation
    }
}

extension VectorEffects {
    public var model: ModelEffects {
        var list: ModelACL?
        switch acl {
        case .absent: list = .absent
        case .present(let entries): list = .present(entries.map(\.model))
        case nil: list = nil
        }
        return ModelEffects(owner: owner, group: group, mode: mode?.value, flags: flags.map { Set($0) }, acl: list)
    }
}

extension Vector {
    public var modelNodes: ModelNodes {
        ModelNodes(
            parent: parent?.model, object: object?.model, targetParent: targetParent?.model, target: target?.model)
    }
    /// The world as the vectors see it: uid 99 substituted, no set-uid directories.
    public var modelWorld: ModelWorld {
        ModelWorld(
            volume: ModelVolume(
                readOnly: volume.readOnly, ignoreOwnership: volume.ignoreOwnership, noExec: volume.noExec),
            securelevel: securelevel, sandboxDeny: sandboxDeny)
    }
    /// The reference model's answer.
    /// - Parameter capabilities: of the caller; nil: as the vectors have it.
    public func decideByModel(_ directory: ModelDirectory, capabilities: Set<String>? = nil) -> ModelOutcome {
        var credential = cred.model
        if let capabilities { credential.capabilities = capabilities }
        return decide(op.model, by: credential, on: modelNodes, in: modelWorld, directory: directory)
    }
}

extension ModelDirectory {
    public init(_ groups: [UInt32: VectorGroup]) {
        self.init(groups: groups.mapValues { Group(users: $0.users, groups: $0.groups) })
    }
}

extension ModelEntry {
    public var vector: VectorEntry {
        VectorEntry(who: who, kind: kind, rights: rights.sorted(), flags: flags.sorted())
    }
}

extension ModelEffects {
    public var vector: VectorEffects {
        var effects = VectorEffects()
        (effects.owner, effects.group, effects.mode) = (owner, group, mode.map { Octal($0) })
        effects.flags = flags.map { $0.sorted() }
        switch acl {
        case .absent: effects.acl = .absent
        case .present(let entries): effects.acl = .present(entries.map(\.vector))
        case nil: break
        }
        return effects
    }
}
