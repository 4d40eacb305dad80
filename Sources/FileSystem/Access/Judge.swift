import Authorization
import BackingStore
import FuseSession
import Glibc
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy
import WireFormats

/// Decides the requests of the callers of one mount, and records each denial. Requests and explanations ask the authorizer through it alone
/// (`inquire`), and through `SpecialFileGate`, which it asks.
///
/// Denials through an open handle are counted only.
/// It reads the facts that it is given and touches no object of the backing tree.
public final class Judge: Sendable {
    /// On a confined mount: the judge of the mount whose volume it shows. nil on any other.
    private let base: Judge?
    private let volumeState: Lock<VolumeState>
    /// Applies what the kernel has changed of the mount's flags since the volume's state was set; nil until the mount is served.
    ///
    /// In a structure: a function that is itself the value of a generic `Lock` is wrapped anew by every use of the lock, and the wrappers
    /// stay (Swift 6.3).
    private struct KernelFlags {
        var apply: (@Sendable (inout VolumeState) -> Void)?
    }
    private let kernelFlags = Lock(KernelFlags())
    let groups: GroupCache
    /// Without `allow_other` the kernel admits one user alone; nil with it.
    private let soleUser: SoleUser?
    let gate: SpecialFileGate
    let posix: PosixForms
    public let counters = Counters()
    let denials = DenialLog()
    /// The log of decisions; nil if there is none. A confined mount writes to that of its base.
    let audit: AuditLog?
    private let tree: BackingTree
    private let profile: String?
    /// Distinguishes the denials of a confined mount in the log of its base.
    private let number: UInt64

    /// - Parameters:
    ///   - options: of the mount.
    ///   - tree: gives the inode numbers in denials.
    ///   - base: the judge of the mount that a confined mount belongs to.
    ///   - identities: those that a file translates; ignored if there is a base.
    ///   - audit: the log of decisions; ignored if there is a base.
    ///   - profile: the name of the profile that confines the mount; nil if none does.
    ///   - number: of the mount, for the base's log of denials.
    ///   - lent: capabilities that count for root in a sandbox on a confined mount.
    init(
        _ options: MountOptions, _ tree: BackingTree, base: Judge?, identities: IdentityMap?, audit: AuditLog?, profile: String?,
        number: UInt64, lent: Capabilities = []
    ) {
        (self.tree, self.base, self.profile, self.number) = (tree, base, profile, number)
        self.audit = base.map { $0.audit } ?? audit
        volumeState = Lock(options.volume)
        groups = GroupCache(
            milliseconds: options.groupsCache, directory: options.directoryGroups, identities: base?.identities ?? identities,
            // What may not be root here may not act as if, either.
            capabilitiesCount: options.squashedRoot == nil, lent: lent)
        soleUser = options.allowOther ? nil : SoleUser(uid: geteuid(), gid: getegid())
        gate = SpecialFileGate(options)
        posix = PosixForms(isOn: options.posixACL == .translate && !options.volume.ignoresACLs)
    }

    /// Ends the logs. The mount is gone.
    func end() {
        base?.denials.end(number)
        if base == nil { audit?.end() }
    }

    /// Opens the log of decisions anew after the administrator has moved it away.
    func reopenAudit() { if base == nil { audit?.reopen() } }

    /// The volume's state in force.
    var volume: VolumeState { base?.volume ?? volumeState.withLock { $0 } }

    /// The volume's state with the kernel's settings of now: a remount of the kernel alone (`mount -i -o remount`) is followed by the daemon's
    /// own copy a moment later. It costs calls.
    var presentSettings: VolumeState {
        var settings = volume
        if let apply = (base ?? self).kernelFlags.withLock({ $0.apply }) { apply(&settings) }
        settings.protectsHardLinks = KernelSettings.protectsHardLinks
        return settings
    }

    /// Begins to ask for the kernel's flags where they decide.
    func followKernel(_ apply: @escaping @Sendable (inout VolumeState) -> Void) { kernelFlags.withLock { $0.apply = apply } }

    /// Changes the volume's state. The caller holds the metadata lock for writing, so that no decision runs meanwhile.
    func changeVolume(_ body: (inout VolumeState) -> Void) {
        if let base { return base.changeVolume(body) }
        volumeState.withLock { body(&$0) }
    }

    // MARK: Credentials

    /// Asks the directory service about the user. Call before the request takes any lock.
    func prepare(for caller: Caller) { groups.prepare(uid: caller.uid, tid: caller.isSquashed ? 0 : Int32(bitPattern: caller.tid)) }

    private func credential(_ caller: Caller, realIDsCount: Bool = false) -> RequestCredential {
        RequestCredential(
            uid: caller.uid, gid: caller.gid, tid: Int32(bitPattern: caller.tid), request: caller.request, cache: groups,
            realIDsCount: realIDsCount, isSquashed: caller.isSquashed)
    }

    /// Whether a capability of the caller counts over an object (docs/reference/authorization.md 3.12); nil: over the whole file system. It may read
    /// /proc: ask only where the answer decides.
    func holds(_ capability: Capabilities, over object: ObjectFacts?, _ caller: Caller) -> Bool {
        var credential = credential(caller)
        return credential.capabilities(over: object).contains(capability)
    }

    /// The capabilities of root who asks for a sandbox, over the whole file system. The sandbox takes them from the command, because they would
    /// reach further than its profile; on the view the profile is the limit, and the command counts with what its root had.
    public func capabilities(of peer: ControlSocket.Peer) -> Capabilities {
        guard peer.uid == 0 else { return [] }
        var credential = RequestCredential(uid: peer.uid, gid: peer.gid, tid: peer.pid, cache: groups)
        return credential.capabilities(over: nil)
    }

    /// Whether what the caller writes leaves set-id bits as they are. The kernel asks the same of its own.
    func keepsSetID(_ caller: Caller) -> Bool { holds(.fsetid, over: nil, caller) }

    /// Identities from elsewhere; nil if nothing translates them.
    var identities: IdentityMap? { groups.identities }

    // MARK: Deciding

    /// Asks the authorizer and counts the decision.
    /// - Parameters:
    ///   - operation: the request in the terms of the authorizer.
    ///   - operands: the objects of the operation, by role.
    ///   - object: the object that the log of denials names.
    ///   - name: the name in `directory` that the request gave, if it gave one.
    /// - Throws: the errno of a denial.
    func permit(
        _ operation: Operation, _ operands: borrowing Operands, _ caller: Caller, about object: ObjectState,
        named name: UnsafePointer<CChar>? = nil, in directory: BackingObject? = nil
    ) throws(Errno) {
        // A line about a grant shows its stage; no other grant pays for an exact one.
        let decision =
            audit?.logsAllowed ?? false
            ? decide(operation, operands, caller, StageObserver()) : decide(operation, operands, caller)
        // On a spare thread the operation runs again, after a first run that was allowed and counted.
        if ThreadMark.isSet, decision.isAllowed { return }
        counters.count(decision)
        if let denial = decision.denial {
            var rule: String?
            if case .sandbox(let role) = decision.stage { rule = operands.rule(on: role) }
            rule = rule ?? lack(decision, operation, operands.facts.object ?? operands.facts.parent, caller)
            record(decision, of: operation, caller, object, named: name, in: directory, rule: rule)
            throw denial.errno
        }
        if let audit, audit.logsAllowed {
            audit.add(auditLine(logEntry(decision, operation, caller, object, name, directory, nil), caller))
        }
    }

    /// Asks whether the caller may look up a name.
    func permitLookup(_ name: UnsafePointer<CChar>, in directory: ObjectState, _ caller: Caller) throws(Errno) {
        try permit(.lookup, Operands(finding: name, in: directory), caller, about: directory, named: name, in: directory.object)
    }

    /// Asks what an open handle may do, by what was granted when it was opened. The decision is counted and neither kept nor logged.
    /// - Throws: the errno of a denial.
    func permit(_ operation: HandleOperation, through file: OpenFile, flags: FileFlags = []) throws(Errno) {
        let decision = authorize(operation, through: file.mode, flags: flags)
        counters.count(decision)
        if let denial = decision.denial { throw denial.errno }
    }

    /// Asks the authorizer without counting, for decisions that shape an operation instead of refusing it.
    func decide(_ operation: Operation, _ operands: borrowing Operands, _ caller: Caller) -> Decision {
        decide(operation, operands, caller, NoObserver())
    }

    private func decide<O: EvaluationObserver>(
        _ operation: Operation, _ operands: borrowing Operands, _ caller: Caller, _ observer: O
    ) -> Decision {
        inquire(operation, operands, observer) { credential(caller, realIDsCount: $0) }.decision
    }

    /// Puts a question to the authorizer: for a request, and for an explanation, which so tells what a request would be answered.
    /// - Parameters:
    ///   - observer: records the steps.
    ///   - asksKernel: the kernel's settings count as they are now, also where they do not deny.
    ///   - credential: of the subject; given whether the ids of the request may be the real ids of its thread.
    /// - Returns: the decision, and the observer with its steps.
    func inquire<C: Credential, O: EvaluationObserver>(
        _ operation: Operation, _ operands: borrowing Operands, _ observer: O, asksKernel: Bool = false,
        by credential: (_ realIDsCount: Bool) -> C
    ) -> (decision: Decision, observer: O) {
        var settings = volume
        // Reading the kernel's setting costs a call: it is read only if this rule is the one that denies.
        settings.protectsHardLinks = true
        if asksKernel { settings = presentSettings }
        var inquiry = Inquiry(credential(operation.asksByRealIDs), on: settings, sandbox: operands.confinement, observer: observer)
        let decision = inquiry.authorize(operation, operands.facts)
        var present = settings
        switch decision.stage {
        case .precondition(.protectedLink): present.protectsHardLinks = KernelSettings.protectsHardLinks
        // Nor does a request cost a call for the mount's flags, unless they are what denies it. The kernel itself refuses what would be
        // allowed here, but not on a confined mount, whose flags are its own.
        case .precondition(.readOnly), .precondition(.noExecution): present = presentSettings
        default: if base != nil, decision.isAllowed, operation.dependsOnMountFlags { present = presentSettings }
        }
        if present == settings { return (decision, inquiry.observer) }
        inquiry = Inquiry(credential(operation.asksByRealIDs), on: present, sandbox: operands.confinement, observer: observer)
        let presentDecision = inquiry.authorize(operation, operands.facts)
        return (presentDecision, inquiry.observer)
    }

    /// Asks the gate in front of special files, for a request and for an explanation.
    func inquireFinding(_ found: ObjectState, by credential: some Credential) -> SpecialFileGate.GateDecision? {
        gate.decide(Operands(object: found), credential, on: volume)
    }

    /// Asks the gate whether the caller may find a special file that a look-up resolved.
    /// - Throws: the errno of a denial.
    func permitFinding(
        _ found: ObjectState, named name: UnsafePointer<CChar>, in directory: BackingObject, _ caller: Caller
    ) throws(Errno) {
        guard gate.rights(behind: found.object.kind) != nil,
            let answer = inquireFinding(found, by: credential(caller)), let denial = answer.decision.denial
        else { return }
        counters.count(answer.decision)
        let rule = answer.rule ?? lack(answer.decision, .lookup, found.facts, caller)
        record(answer.decision, of: .lookup, caller, found, named: name, in: directory, rule: rule)
        throw denial.errno
    }

    /// The facts of a new object whose creation was allowed.
    /// - Throws: `nomem` if the inherited list is too long.
    func newObject(_ request: CreationRequest, in parent: ObjectFacts, _ caller: Caller) throws(Errno) -> ObjectFacts {
        let inquiry = Inquiry(credential(caller), on: volume, sandbox: Unconfined(), observer: NoObserver())
        do { return try inquiry.newObject(request, in: parent, gid: caller.gid) } catch { throw .nomem }
    }

    /// What a root lacks whom a decision refuses as any other user; nil if that is not why.
    private func lack(_ decision: Decision, _ operation: Operation, _ object: ObjectFacts?, _ caller: Caller) -> String? {
        if caller.uid != 0 { return nil }
        var credential = credential(caller)
        return credential.lack(decision.stage, operation, over: object)
    }

    // MARK: Universal rights

    /// Whether every caller that can reach this mount holds these rights (docs/internals/coherence.md).
    func everyCallerHolds(_ rights: Rights, on object: ObjectState) -> Bool {
        everyCallerHolds(rights, on: object.facts, object.location)
    }

    func everyCallerHolds(_ rights: Rights, on facts: ObjectFacts, _ location: EffectiveLocation) -> Bool {
        guard location.rights.isSuperset(of: rights) else { return false }
        guard let soleUser else { return universalRights(of: facts, on: volume).isSuperset(of: rights) }
        var inquiry = Inquiry(soleUser, on: volume, sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(.rights(rights), FactsByRole(object: facts)).isAllowed
    }

    // MARK: Recording

    private func logEntry(
        _ decision: Decision, _ operation: Operation, _ caller: Caller, _ object: ObjectState,
        _ name: UnsafePointer<CChar>?, _ directory: BackingObject?, _ rule: String?
    ) -> DenialLog.Kept {
        let now = SystemTime.now()
        return DenialLog.Kept(
            time: now.sec, nanoseconds: now.nsec, uid: caller.uid, payer: caller.payer, operation: operation,
            inode: tree.shownInode(device: object.status.device, inode: object.status.inode),
            denied: DeniedObject(directory ?? object.object, name: name.map { Array($0.bytes) }), decision: decision,
            rule: rule)
    }

    private func auditLine(_ entry: DenialLog.Kept, _ caller: Caller) -> AuditLog.Line {
        AuditLog.Line(kept: entry, tid: caller.tid, tree: tree, profile: profile)
    }

    private func record(
        _ decision: Decision, of operation: Operation, _ caller: Caller, _ object: ObjectState,
        named name: UnsafePointer<CChar>?, in directory: BackingObject?, rule: String?
    ) {
        var entry = logEntry(decision, operation, caller, object, name, directory, rule)
        denials.add(entry)
        audit?.add(auditLine(entry, caller))
        // Only the confined command reaches its mount: all others ask the base.
        guard let base else { return }
        entry.view = number
        base.denials.add(entry)
    }
}

extension Operation {
    /// access(2) alone brings ids that may differ from the thread's effective ids, also to the walk to the object and to a question for
    /// its mode (docs/reference/authorization.md 9a.2).
    fileprivate var asksByRealIDs: Bool {
        switch self {
        case .access, .lookup, .stat, .readLink: true
        default: false
        }
    }

    /// Whether it may change something or execute.
    fileprivate var dependsOnMountFlags: Bool {
        switch self {
        case .lookup, .list, .stat, .readACL, .readFlags, .readLink, .getXattr, .listXattr: false
        case .access(let mask): !mask.isDisjoint(with: [.write, .execute])
        case .open(let intent): !intent.isDisjoint(with: [.write, .append, .truncate, .execute])
        default: true
        }
    }
}
