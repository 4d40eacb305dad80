/// One caller's inquiry: who asks, on which volume, under which sandbox, watched by whom.
///
/// `authorize` is the single entry: structural conditions, sandbox, legality of the values, then each
/// check of the operation through the stages of docs/authorization.md 3.4. Nothing else decides permissions.
public struct Inquiry<C: Credential, P: SandboxPolicy, O: EvaluationObserver> {
    public var credential: C
    public let volume: VolumeState
    public let sandbox: P
    public var observer: O

    public init(_ credential: consuming C, on volume: VolumeState, sandbox: P, observer: O) {
        self.credential = credential
        self.volume = volume
        self.sandbox = sandbox
        self.observer = observer
    }
}

extension Inquiry {
    /// Decides one operation on the given objects.
    public mutating func authorize(_ operation: Operation, _ nodes: Nodes) -> Decision {
        if operation.changesOwnership, volume.unknown99, !credential.isRoot {
            var shown = nodes
            showUnknownAsCaller(&shown.object)
            return judge(operation, shown)
        }
        return judge(operation, nodes)
    }

    private mutating func judge(_ operation: Operation, _ nodes: Nodes) -> Decision {
        // Nearly all requests: one check of one object, which is taken out once.
        guard let object = nodes.object,
            let check = onlyCheck(of: operation, object.kind, isWithinParent: nodes.parent != nil)
        else { return judgeFurther(operation, nodes) }
        if let error = structuralError(of: operation, object.kind, object.mode, isRoot: credential.isRoot) {
            return conclude(error)
        }
        if let role = sandboxRefusal(check) { return conclude(.deny(.EPERM, .sandbox(role))) }
        observer.beginCheck(check)
        let decision = evaluate(check, object, nodes)
        observer.endCheck(decision)
        return decision
    }

    /// Operations with several checks, with values that may be wrong, or with errors of their own.
    private mutating func judgeFurther(_ operation: Operation, _ nodes: Nodes) -> Decision {
        let isRoot = credential.isRoot
        if let error = structuralError(of: operation, nodes.object?.kind, nodes.object?.mode, isRoot: isRoot) {
            return conclude(error)
        }
        var isOwner = false
        if operation.dependsOnOwner, let object = nodes.object { isOwner = ownership(of: object) == .member }
        guard let checks = requiredRights(for: operation, nodes: nodes, isRoot: isRoot, isOwner: isOwner) else {
            return conclude(.deny(.EPERM, .precondition(.unmapped)))
        }
        var index = 0
        while let check = checks[index] {
            if let role = sandboxRefusal(check) { return conclude(.deny(.EPERM, .sandbox(role))) }
            index += 1
        }
        if let error = typeErrorAfterSandbox(of: operation, nodes: nodes) { return conclude(error) }
        if let error = illegalChange(operation, nodes, isOwner: isOwner) { return conclude(error) }
        if let error = protectedLink(operation, nodes) { return conclude(error) }

        var decision = Decision.allow(.implicit)
        index = 0
        while let check = checks[index] {
            observer.beginCheck(check)
            guard let object = nodes[check.role] else { return conclude(.deny(.EIO, .precondition(.unreadable))) }
            decision = evaluate(check, object, nodes)
            observer.endCheck(decision)
            if !decision.isAllowed { return translated(decision, for: operation) }
            index += 1
        }
        if case .create(let request) = operation, let parent = nodes.parent,
            let error = illegalCreation(request, in: parent)
        {
            return conclude(error)
        }
        return decision
    }

    /// Ids 99 are the caller's own before any of them is compared (1.4, Q16), so a chown to oneself of
    /// an object without a known owner changes nothing (9a.6).
    private func showUnknownAsCaller(_ object: inout ObjectFacts?) {
        if object?.owner == unknownID, object?.ownerGUID == nil { object?.owner = credential.uid }
        if object?.group == unknownID, object?.groupGUID == nil, let group = credential.effectiveGroup {
            object?.group = group
        }
    }

    private mutating func conclude(_ decision: Decision) -> Decision {
        observer.endCheck(decision)
        return decision
    }

    /// The object on which the policy does not let the check pass; nil = it passes. A change of attributes that names
    /// what is there already asks nobody for a right, but it is a change: it takes set-id bits, and the time of change.
    private func sandboxRefusal(_ check: Check) -> NodeRole? {
        if let parentRole = check.parentRole, check.rights.contains(.delete),
            !sandbox.permits(.deleteChild, on: parentRole)
        {
            return parentRole
        }
        let changesNothing = check.changesAttributes && check.rights.isEmpty
        return sandbox.permits(changesNothing ? .writeSecurity : check.rights, on: check.role) ? nil : check.role
    }

    /// EACCES becomes EPERM through chmod, chown, setting an ACL and choosing times (2.3); chflags and
    /// "now" keep it.
    private func translated(_ decision: Decision, for operation: Operation) -> Decision {
        switch operation {
        case .chmod, .chown, .setOwner, .setGroup, .setACL: decision.reportedAsNotPermitted
        case .setTimes(let access, let modification) where access == .chosen || modification == .chosen:
            decision.reportedAsNotPermitted
        default: decision
        }
    }

    /// The stages for one check, in the project's order (3.4 steps 4 to 9).
    mutating func evaluate(_ check: Check, _ object: ObjectFacts, _ nodes: Nodes) -> Decision {
        // The directory decides with the object where the object is to be removed. Handed on by its part: looking into
        // large optional facts copies them.
        var remover: NodeRole?
        if check.rights.contains(.delete), let role = check.parentRole, nodes.has(role) { remover = role }

        // Step 4: the volume. Binds root.
        if volume.isReadOnly, readOnlyRefuses(check, object) {
            return .deny(.EROFS, .precondition(.readOnly))
        }
        if volume.forbidsExecution, check.rights.contains(.execute), object.kind == .file {
            return .deny(.EACCES, .precondition(.noExecution))
        }

        // Step 5: ignored ownership skips what depends on who asks; flags are the object's own state (Q1).
        if volume.ignoresOwnership, !credential.isRoot {
            return flagRefusal(check, object, remover, nodes) ?? .allow(check.rights.isEmpty ? .implicit : .ownershipIgnored)
        }
        // Step 6: root.
        if credential.isRoot {
            if let flagsRefuse = flagRefusal(check, object, remover, nodes) { return flagsRefuse }
            if check.rights.contains(.execute), object.kind == .file,
                object.mode.isDisjoint(with: .anyExecute)
            {
                return .deny(.EPERM, .rootNoExecuteBit)
            }
            return .allow(check.rights.isEmpty ? .implicit : .root)
        }
        return evaluateOrdinary(check, object, remover, nodes)
    }

    /// Steps 6 to 9 for everybody but root.
    @inline(__always)
    private mutating func evaluateOrdinary(
        _ check: Check, _ object: ObjectFacts, _ remover: NodeRole?, _ nodes: Nodes
    ) -> Decision {
        var stage = Stage.implicit
        // Requests that ask nothing but the flags are satisfied by them.
        var rights = check.rights.subtracting([.linkTarget, .checkImmutable])
        let owner = ownership(of: object)
        let isOwner = owner == .member
        // What the owner always has, and what taking ownership includes.
        if isOwner, !rights.isDisjoint(with: [.readSecurity, .writeSecurity]) {
            let given = rights.intersection([.readSecurity, .writeSecurity])
            rights.subtract(given)
            stage = .ownerRight
            observer.stage(stage, granted: given)
        }
        if rights.contains(.changeOwner) { rights.remove(.writeSecurity) }

        // Step 7: entries.
        var deleteIsOpen = false
        if let remover, let parent = nodes[remover] {
            switch deleteByEntries(object, check.role, parent, remover) {
            case .refused(let decision): return decision
            case .allowed(let by):
                stage = by
                observer.stage(by, granted: .delete)
            case .silent: deleteIsOpen = true
            }
        }
        var leftover = rights
        let others = remover == nil ? rights : rights.subtracting(.delete)
        if !others.isEmpty {
            switch scan(rights, object, as: check.role) {
            case .denied(let index): return .deny(.EACCES, .entry(check.role, index))
            case .allowed(let index):
                stage = .entry(check.role, index)
                leftover = []
            case .undecided(let open, let last):
                if let last { stage = .entry(check.role, last) }
                leftover = open
            }
        }
        // Step 8: flags, which no entry lifts.
        if let flagsRefuse = flagRefusal(check, object, remover, nodes) { return flagsRefuse }

        // Step 9: what is left.
        if deleteIsOpen, let remover, let parent = nodes[remover] {
            let decision = deleteByMode(object, parent, remover)
            if !decision.isAllowed { return decision }
            stage = decision.stage
            observer.stage(stage, granted: .delete)
        }
        if remover != nil { leftover.remove(.delete) }
        if isOwner, leftover.contains(.writeAttributes) {
            leftover.remove(.writeAttributes)
            stage = .ownerRight
            observer.stage(stage, granted: .writeAttributes)
        }
        if leftover.isEmpty { return .allow(stage) }
        if !leftover.isDisjoint(with: [.changeOwner, .writeSecurity]) { return .deny(.EACCES, .noEquivalent) }
        if leftover.contains(.delete) { return .deny(.EACCES, .noEquivalent) }
        let bits = modeBits(for: leftover)
        if bits == 0 {
            observer.stage(.implicit, granted: leftover)
            return .allow(.implicit)
        }
        let decision = modeDecision(bits, object, as: check.role, owner: owner)
        if decision.isAllowed { observer.stage(decision.stage, granted: leftover) }
        return decision
    }

    /// 3.1 step 1: writing through special nodes is not writing to the volume; removing them is, and
    /// changing their attributes is (9a.1).
    private func readOnlyRefuses(_ check: Check, _ object: ObjectFacts) -> Bool {
        if check.changesAttributes { return true }
        if check.rights.isDisjoint(with: .anyWrite) { return false }
        return !object.kind.isSpecial || !check.rights.isDisjoint(with: [.delete, .deleteChild])
    }

    private func flagRefusal(
        _ check: Check, _ object: ObjectFacts, _ remover: NodeRole?, _ nodes: Nodes
    ) -> Decision? {
        // No flag stands in the way of reading.
        if check.rights.isDisjoint(with: .anyWrite) { return nil }
        let ignored = check.changesFlags ? volume.flagsIgnoredByFlagsChange : []
        if flagsForbid(check.rights, on: object, ignoring: ignored) { return .deny(.EPERM, .flags(check.role)) }
        if let remover, let parent = nodes[remover], flagsForbid(.deleteChild, on: parent) { return .deny(.EPERM, .flags(remover)) }
        return nil
    }
}
