/// The question of one caller on one volume, under one sandbox. An observer records how it is answered.
///
/// `authorize` is the single entry. It tests structural conditions, the sandbox and the legality of the values. Then it runs each
/// check of the operation through the stages of docs/reference/authorization.md 3.4. Only requests through an open handle
/// are decided elsewhere (HandleRule.swift).
/// Each rule is an extension in a file of its own (`Rules`).
public struct Inquiry<C: Credential, P: SandboxPolicy, O: EvaluationObserver> {
    public var credential: C
    public let volume: VolumeState
    public let sandbox: P
    public var observer: O

    /// - Parameters:
    ///   - credential: the caller.
    ///   - volume: the state of the mount.
    ///   - sandbox: the policy of the mount's profile; `Unconfined` where there is none.
    ///   - observer: receives each step of each decision.
    public init(_ credential: consuming C, on volume: VolumeState, sandbox: P, observer: O) {
        self.credential = credential
        self.volume = volume
        self.sandbox = sandbox
        self.observer = observer
    }
}

extension Inquiry {
    /// Decides one operation.
    ///
    /// - Parameters:
    ///   - operation: what the caller asks.
    ///   - facts: the objects of the operation. A missing object that the operation needs is denied.
    /// - Returns: the decision of the first check that refuses, else that of the last check.
    public mutating func authorize(_ operation: Operation, _ facts: FactsByRole) -> Decision {
        if operation.changesOwnership, volume.unknown99, credential.uid != 0 {
            var substituted = facts
            replaceUnknownIDs(of: &substituted.object)
            return decide(operation, substituted)
        }
        return decide(operation, facts)
    }

    private mutating func decide(_ operation: Operation, _ facts: FactsByRole) -> Decision {
        // Nearly all requests make one check of one object. Reading the optional once saves a copy of its facts.
        guard let object = facts.object,
            let check = onlyCheck(of: operation, object.kind, isWithinParent: facts.parent != nil)
        else { return decideFully(operation, facts) }
        if let error = structuralError(of: operation, object.kind, object.mode, makesDevices: credential.makesDevices) {
            return conclude(error)
        }
        if let role = sandboxRefusal(check) { return conclude(.deny(.EPERM, .sandbox(role))) }
        observer.beginCheck(check)
        let decision = evaluate(check, object, facts)
        observer.endCheck(decision)
        return decision
    }

    /// Decides operations with several checks, with values that may be illegal, or with errors of their own.
    private mutating func decideFully(_ operation: Operation, _ facts: FactsByRole) -> Decision {
        if let error = structuralError(of: operation, facts.object?.kind, facts.object?.mode, makesDevices: credential.makesDevices) {
            return conclude(error)
        }
        var (isOwner, isRoot) = (false, false)
        if operation.dependsOnOwner, let object = facts.object {
            isRoot = credential.isRoot
            isOwner = ownership(of: object) == .member
            if !isRoot, !isOwner {
                if operation.changesOwnership {
                    // Where ownership is ignored anybody may, and a capability only adds: it brings no check of the flags.
                    isRoot = !volume.ignoresOwnership && credential.capabilities(over: object).contains(.chown)
                } else {
                    isOwner = operation.isForOwners && credential.capabilities(over: object).contains(.fowner)
                }
            }
        }
        guard let checks = requiredRights(for: operation, facts: facts, isRoot: isRoot, isOwner: isOwner) else {
            return conclude(.deny(.EPERM, .precondition(.unmapped)))
        }
        var index = 0
        while let check = checks[index] {
            if let role = sandboxRefusal(check) { return conclude(.deny(.EPERM, .sandbox(role))) }
            index += 1
        }
        if let error = typeErrorAfterSandbox(of: operation, facts: facts) { return conclude(error) }
        if let error = illegalChange(operation, facts, isOwner: isOwner) { return conclude(error) }
        if let error = protectedLink(operation, facts) { return conclude(error) }

        var decision = Decision.allow(.implicit)
        index = 0
        while let check = checks[index] {
            observer.beginCheck(check)
            guard let object = facts[check.role] else { return conclude(.deny(.EIO, .precondition(.unreadable))) }
            decision = evaluate(check, object, facts)
            observer.endCheck(decision)
            if !decision.isAllowed { return translated(decision, for: operation) }
            index += 1
        }
        if case .create(let request) = operation, let parent = facts.parent,
            let error = illegalCreation(request, in: parent)
        {
            return conclude(error)
        }
        return decision
    }

    /// Replaces ids 99 by the caller's own before any of them is compared (1.4, Q16). A chown to oneself of an object without a
    /// known owner then changes nothing (9a.6).
    private func replaceUnknownIDs(of object: inout ObjectFacts?) {
        if object?.owner == unknownID, object?.ownerGUID == nil { object?.owner = credential.uid }
        if object?.group == unknownID, object?.groupGUID == nil, let group = credential.effectiveGroup {
            object?.group = group
        }
    }

    private mutating func conclude(_ decision: Decision) -> Decision {
        observer.endCheck(decision)
        return decision
    }

    /// The object on which the policy refuses the check; nil = it permits the check. A change of attributes to the values that are
    /// there needs no right. It is a change nevertheless: it clears set-id bits and sets the time of change.
    private func sandboxRefusal(_ check: Check) -> ObjectRole? {
        if let directory = check.parentRole, check.rights.contains(.delete),
            !sandbox.permits(.deleteChild, on: directory)
        {
            return directory
        }
        let changesNothing = check.changesAttributes && check.rights.isEmpty
        return sandbox.permits(changesNothing ? .writeSecurity : check.rights, on: check.role) ? nil : check.role
    }

    /// chmod, chown, setting an ACL and choosing times report EACCES as EPERM (2.3). chflags and "now" keep EACCES.
    private func translated(_ decision: Decision, for operation: Operation) -> Decision {
        switch operation {
        case .chmod, .chown, .setOwner, .setGroup, .setACL: decision.reportedAsNotPermitted
        case .setTimes(let access, let modification) where access == .chosen || modification == .chosen:
            decision.reportedAsNotPermitted
        default: decision
        }
    }

    /// The stages for one check (3.4 steps 4 to 9).
    mutating func evaluate(_ check: Check, _ object: ObjectFacts, _ facts: FactsByRole) -> Decision {
        // A removal asks the directory too. It is passed on by its role, because reading a large optional of facts copies them.
        var parentRole: ObjectRole?
        if check.rights.contains(.delete), let role = check.parentRole, facts.has(role) { parentRole = role }

        // Step 4: the volume. It binds root too.
        if volume.isReadOnly, readOnlyRefuses(check, object) {
            return .deny(.EROFS, .precondition(.readOnly))
        }
        if volume.forbidsExecution, check.rights.contains(.execute), object.kind == .file {
            return .deny(.EACCES, .precondition(.noExecution))
        }

        // Step 5: ignored ownership skips what depends on the caller. Flags are the object's own state (Q1).
        if volume.ignoresOwnership, !credential.isRoot {
            return flagRefusal(check, object, parentRole, facts) ?? .allow(check.rights.isEmpty ? .implicit : .ownershipIgnored)
        }
        // Step 6: root.
        if credential.isRoot {
            if let refusal = flagRefusal(check, object, parentRole, facts) { return refusal }
            if check.rights.contains(.execute), object.kind == .file,
                object.mode.isDisjoint(with: .anyExecute)
            {
                return .deny(.EPERM, .rootNoExecuteBit)
            }
            return .allow(check.rights.isEmpty ? .implicit : .root)
        }
        let decision = evaluateOrdinary(check, object, parentRole, facts, Lift())
        return decision.isAllowed ? decision : evaluateByCapabilities(decision, check, object, parentRole, facts)
    }

    /// Steps 6 to 9 for every caller but root.
    /// - Parameter lift: what capabilities decide; nothing in the first evaluation of a check.
    @inline(__always)
    mutating func evaluateOrdinary(
        _ check: Check, _ object: ObjectFacts, _ parentRole: ObjectRole?, _ facts: FactsByRole, _ lift: Lift
    ) -> Decision {
        var stage = Stage.implicit
        // Two rights ask about the flags only; step 8 answers them.
        var rights = check.rights.subtracting([.linkTarget, .checkImmutable])
        let owner = ownership(of: object)
        let isOwner = owner == .member || lift.owns
        // Rights that an owner always has, and a right that taking ownership includes.
        if isOwner, !rights.isDisjoint(with: [.readSecurity, .writeSecurity]) {
            let ownersRights = rights.intersection([.readSecurity, .writeSecurity])
            rights.subtract(ownersRights)
            stage = .ownerRight
            observer.stage(stage, granted: ownersRights)
        }
        if rights.contains(.changeOwner) { rights.remove(.writeSecurity) }
        rights.subtract(lift.rights)

        // Step 7: entries.
        var deleteIsUndecided = false
        if let parentRole, let parent = facts[parentRole] {
            switch deleteByEntries(object, check.role, parent, parentRole, lift) {
            case .refused(let decision): return decision
            case .allowed(let by):
                stage = by
                observer.stage(by, granted: .delete)
            case .silent: deleteIsUndecided = true
            }
        }
        var leftover = rights
        let others = parentRole == nil ? rights : rights.subtracting(.delete)
        if !others.isEmpty {
            switch scan(lift.passesObject ? others : rights, object, as: check.role) {
            case .denied(let index): return .deny(.EACCES, .entry(check.role, index))
            case .allowed(let index):
                stage = .entry(check.role, index)
                leftover = []
            case .undecided(let open, let last):
                if let last { stage = .entry(check.role, last) }
                leftover = open
            }
        }
        // Step 8: flags, which no entry overrides.
        if let refusal = flagRefusal(check, object, parentRole, facts) { return refusal }

        // Step 9: mode bits, for the rights that no entry decided.
        if deleteIsUndecided, let parentRole, let parent = facts[parentRole] {
            let decision = deleteByMode(object, parent, parentRole, lift)
            if !decision.isAllowed { return decision }
            stage = decision.stage
            observer.stage(stage, granted: .delete)
        }
        if parentRole != nil { leftover.remove(.delete) }
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

    /// 3.1 step 1: writing through a special file does not write to the volume. Removing it does, and so does changing its
    /// attributes (9a.1).
    private func readOnlyRefuses(_ check: Check, _ object: ObjectFacts) -> Bool {
        if check.changesAttributes { return true }
        if check.rights.isDisjoint(with: .anyWrite) { return false }
        return !object.kind.isSpecial || !check.rights.isDisjoint(with: [.delete, .deleteChild])
    }

    private func flagRefusal(
        _ check: Check, _ object: ObjectFacts, _ parentRole: ObjectRole?, _ facts: FactsByRole
    ) -> Decision? {
        // No flag forbids reading.
        if check.rights.isDisjoint(with: .anyWrite) { return nil }
        let ignored = check.changesFlags ? volume.flagsIgnoredByFlagsChange : []
        if flagsForbid(check.rights, on: object, ignoring: ignored) { return .deny(.EPERM, .flags(check.role)) }
        if let parentRole, let parent = facts[parentRole], flagsForbid(.deleteChild, on: parent) {
            return .deny(.EPERM, .flags(parentRole))
        }
        return nil
    }
}
