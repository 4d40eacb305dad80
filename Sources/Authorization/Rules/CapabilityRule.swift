// docs/reference/authorization.md 3.12: what the caller's capabilities add where a caller with these ids and no capability is refused. They are asked
// about then only, because reading them costs more than a decision.

private let reading: Rights = [.read, .readAttributes, .readExtendedAttributes, .readSecurity]
private let writing: Rights = [.write, .append, .deleteChild, .writeAttributes, .writeExtendedAttributes]

extension Lift {
    /// - Parameters:
    ///   - held: the capabilities over the object.
    ///   - directory: those over the directory of a removal.
    ///   - reachesGroup: the caller's namespace has the group of the object.
    init(_ held: Capabilities, directory: Capabilities, reachesGroup: Bool, _ check: Check, _ object: ObjectFacts) {
        if held.contains(.readSearch) { rights.formUnion(Self.readable(object)) }
        if held.contains(.dacOverride) {
            rights.formUnion([reading, writing, .synchronize])
            if object.kind != .file || !object.mode.isDisjoint(with: .anyExecute) { rights.insert(.execute) }
            passesObject = true
        }
        if held.contains(.chown) { rights.formUnion(check.changesOwner ? [.changeOwner, .writeSecurity] : .changeOwner) }
        passesDirectory = directory.contains(.dacOverride)
        owns = held.contains(.fowner)
        passesSticky = owns && reachesGroup
    }

    private static func readable(_ object: ObjectFacts) -> Rights { object.kind == .directory ? reading.union(.search) : reading }

    /// The capability that explains why the check is allowed.
    static func decisive(_ held: Capabilities, _ refused: Stage, _ check: Check, _ object: ObjectFacts) -> Capabilities {
        if refused == .sticky { return .fowner }
        if check.rights.contains(.changeOwner) || check.changesOwner { return .chown }
        if check.rights.contains(.writeSecurity) { return .fowner }
        if check.rights.contains(.delete)
            || held.contains(.dacOverride) && !(held.contains(.readSearch) && check.rights.isSubset(of: readable(object)))
        {
            return .dacOverride
        }
        return held.contains(.readSearch) && !check.rights.isDisjoint(with: readable(object)) ? .readSearch : .fowner
    }
}

extension Inquiry {
    /// Judges a refused check again, without what the caller's capabilities decide.
    // Not inlined: only refused requests come here.
    @inline(never)
    mutating func evaluateByCapabilities(
        _ refused: Decision, _ check: Check, _ object: ObjectFacts, _ parentRole: ObjectRole?, _ facts: FactsByRole
    ) -> Decision {
        switch refused.stage {
        case .entry, .mode, .sticky, .noEquivalent: break
        default: return refused
        }
        let held = credential.capabilities(over: object)
        let directory = parentRole.flatMap { facts[$0] }.map { credential.capabilities(over: $0) } ?? []
        let reachesGroup =
            credential.reachesEverything || object.groupGUID == nil && credential.reaches(user: nil, group: object.group)
        let lift = Lift(held, directory: directory, reachesGroup: reachesGroup, check, object)
        if lift.isEmpty { return refused }
        observer.beginCheck(check)
        let decision = evaluateOrdinary(check, object, parentRole, facts, lift)
        return decision.isAllowed ? .allow(.capability(Lift.decisive(held, refused.stage, check, object))) : decision
    }

    /// Whether the caller's capabilities permit values that are illegal for a caller with these ids (section 6).
    @inline(never)
    mutating func capabilitiesPermit(_ operation: Operation, _ object: ObjectFacts, isOwner: Bool) -> Bool {
        let held = credential.capabilities(over: object)
        return switch operation {
        case .chmod(let mode):
            (!mode.contains(.setGroup) || held.contains(.fsetid) || groupMembership(of: object) == .member)
                && (!mode.contains(.setUser) || isOwner || held.contains(.fowner))
        // Besides, the new owner and group are some that the caller's namespace has: an attribute can name any.
        case .chown(let uid, let gid): held.contains(.chown) && credential.reaches(user: uid, group: gid)
        case .setOwner(let guid), .setGroup(let guid): held.contains(.chown) && reaches(guid)
        default: false
        }
    }

    private mutating func reaches(_ guid: GUID?) -> Bool {
        switch guid.map({ Principal($0) }) {
        case nil: true
        case .user(let uid): credential.reaches(user: uid, group: nil)
        case .group(let gid): credential.reaches(user: nil, group: gid)
        default: credential.reachesEverything
        }
    }
}

extension Credential {
    /// In words, what root lacks whom this stage refuses; nil for another user, and for what binds root with all capabilities.
    public mutating func lack(_ stage: Stage, _ operation: Operation, over object: ObjectFacts?) -> String? {
        guard uid == 0 else { return nil }
        let lacked = stage.lifting(operation).subtracting(capabilities(over: object))
        return lacked.isEmpty ? nil : "root without \(lacked.shown)"
    }
}

extension Stage {
    /// The capabilities of which one is what a caller lacks whom this stage refuses; none for what binds every caller.
    /// - Parameter operation: what was refused.
    func lifting(_ operation: Operation) -> Capabilities {
        switch self {
        case .entry, .mode:
            switch operation {
            case .chmod, .setACL, .chflags: .fowner
            case .chown, .setOwner, .setGroup: .chown
            default: .dacOverride
            }
        case .sticky, .precondition(.protectedLink): .fowner
        case .noEquivalent: operation.changesOwnership ? .chown : .fowner
        case .attributePolicy:
            switch operation {
            case .chmod: [.fowner, .fsetid]
            case .create: .fsetid
            case .chflags: .linuxImmutable
            case .setTimes: .fowner
            default: .chown
            }
        case .special: .dacOverride
        case .precondition(.superuser): .mknod
        case .precondition(.protectedAttribute): [.sysAdmin, .setfcap]
        default: []
        }
    }
}
