import Authorization
import BackingStore
import FuseSession
import Glibc
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy

/// Decides what callers of one mount may do, and remembers what it refused: the only place that asks the authorizer on a caller's
/// behalf. It reads the facts that it is given and touches no object of the backing tree.
public final class Judge: Sendable {
    /// Of a confined mount: the judge of the mount whose volume this is.
    private let base: Judge?
    private let volumeState: Lock<VolumeState>
    let groups: GroupCache
    /// Without `allow_other` the kernel lets nobody else in.
    private let soleUser: SoleUser?
    let gate: SpecialFileGate
    public let counters = Counters()
    let denials = DenialLog()
    /// What is judged is written to; nil: to none. Of a confined mount that of its base.
    let audit: AuditLog?
    private let tree: BackingTree
    private let profile: String?
    /// By which the base keeps the denials of a confined mount apart.
    private let number: UInt64

    /// - Parameters:
    ///   - tree: numbers the objects that denials name.
    ///   - profile: the name of what confines the mount; nil: nothing does.
    init(
        _ options: MountOptions, _ tree: BackingTree, base: Judge?, audit: AuditLog?, profile: String?, number: UInt64
    ) {
        (self.tree, self.base, self.profile, self.number) = (tree, base, profile, number)
        self.audit = base.map { $0.audit } ?? audit
        volumeState = Lock(options.volume)
        groups = GroupCache(milliseconds: options.groupsCache, directory: options.directoryGroups)
        soleUser = options.allowOther ? nil : SoleUser(uid: geteuid(), gid: getegid())
        gate = SpecialFileGate(options)
    }

    /// The mount is gone.
    func end() {
        base?.denials.end(number)
        if base == nil { audit?.end() }
    }

    /// Somebody has moved the log of decisions away.
    func reopenAudit() { if base == nil { audit?.reopen() } }

    /// The volume's state in force.
    var volume: VolumeState { base?.volume ?? volumeState.withLock { $0 } }

    /// The caller holds the metadata lock for writing, so that no decision runs meanwhile.
    func changeVolume(_ body: (inout VolumeState) -> Void) {
        if let base { return base.changeVolume(body) }
        volumeState.withLock { body(&$0) }
    }

    // MARK: Who asks

    /// Before a request of this caller takes any lock: what the directory service says of the user.
    func prepare(for caller: Caller) { groups.prepare(uid: caller.uid) }

    private func credential(_ caller: Caller, realIDsCount: Bool = false) -> RequestCredential {
        RequestCredential(
            uid: caller.uid, gid: caller.gid, tid: Int32(bitPattern: caller.tid), request: caller.request, cache: groups,
            realIDsCount: realIDsCount)
    }

    // MARK: Deciding

    /// Asks the authorizer; a denial is counted and becomes the operation's errno.
    /// - Parameters:
    ///   - object: that a denial is remembered by.
    ///   - name: the name that was asked for, in `directory`.
    func permit(
        _ operation: Operation, _ operands: borrowing Operands, _ caller: Caller, about object: ObjectState,
        named name: UnsafePointer<CChar>? = nil, in directory: BackingObject? = nil
    ) throws(Errno) {
        let decision = decide(operation, operands, caller)
        // Granted a moment ago, before it was found that the object may be held: counted once.
        if ThreadMark.isSet, decision.isAllowed { return }
        counters.count(decision)
        if let denial = decision.denial {
            var rule: String?
            if case .sandbox(let role) = decision.stage { rule = operands.rule(on: role) }
            record(decision, of: operation, caller, object, named: name, in: directory, rule: rule)
            throw denial.errno
        }
        if let audit, audit.takesAllowed {
            audit.add(auditLine(logEntry(decision, operation, caller, object, name, directory, nil), caller))
        }
    }

    /// Asks what an open handle may do.
    func permit(_ operation: HandleOperation, through file: OpenFile, flags: FileFlags = []) throws(Errno) {
        let decision = authorize(operation, through: file.mode, flags: flags)
        counters.count(decision)
        if let denial = decision.denial { throw denial.errno }
    }

    /// Asks the authorizer without counting: for questions that shape an operation instead of refusing it.
    func decide(_ operation: Operation, _ operands: borrowing Operands, _ caller: Caller) -> Decision {
        // Only access(2) comes with ids that need not be those the thread acts under (docs/authorization.md 9a.2).
        let asksByRealIDs = if case .access = operation { true } else { false }
        var settings = volume
        // The system is asked only where it would matter.
        settings.protectsHardLinks = true
        var inquiry = Inquiry(
            credential(caller, realIDsCount: asksByRealIDs), on: settings, sandbox: operands.confinement, observer: NoObserver())
        let decision = inquiry.authorize(operation, operands.facts)
        guard case .precondition(.protectedLink) = decision.stage, !KernelSettings.protectsHardLinks else { return decision }
        settings.protectsHardLinks = false
        inquiry = Inquiry(credential(caller), on: settings, sandbox: operands.confinement, observer: NoObserver())
        return inquiry.authorize(operation, operands.facts)
    }

    /// Asks the gate about what a look-up has found.
    func permitFinding(
        _ found: ObjectState, named name: UnsafePointer<CChar>, in directory: BackingObject, _ caller: Caller
    ) throws(Errno) {
        guard gate.rights(behind: found.object.kind) != nil,
            let answer = gate.decide(Operands(object: found), credential(caller), on: volume), let denial = answer.decision.denial
        else { return }
        counters.count(answer.decision)
        record(answer.decision, of: .lookup, caller, found, named: name, in: directory, rule: answer.rule)
        throw denial.errno
    }

    /// The facts of an object that a decision has let be made.
    func newObject(_ request: CreationRequest, in parent: ObjectFacts, _ caller: Caller) throws(Errno) -> ObjectFacts {
        let inquiry = Inquiry(credential(caller), on: volume, sandbox: Unconfined(), observer: NoObserver())
        do { return try inquiry.newObject(request, in: parent, gid: caller.gid) } catch { throw .nomem }
    }

    // MARK: Everybody

    /// Whether every caller that can reach this mount would be granted these rights.
    func everybodyHolds(_ rights: Rights, on object: ObjectState) -> Bool {
        everybodyHolds(rights, on: object.facts, object.location)
    }

    func everybodyHolds(_ rights: Rights, on facts: ObjectFacts, _ location: EffectiveLocation) -> Bool {
        guard location.rights.isSuperset(of: rights) else { return false }
        guard let soleUser else { return universalRights(of: facts, on: volume).isSuperset(of: rights) }
        var inquiry = Inquiry(soleUser, on: volume, sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(.rights(rights), FactsByRole(object: facts)).isAllowed
    }

    // MARK: Remembering

    private func logEntry(
        _ decision: Decision, _ operation: Operation, _ caller: Caller, _ object: ObjectState,
        _ name: UnsafePointer<CChar>?, _ directory: BackingObject?, _ rule: String?
    ) -> DenialLog.Kept {
        let now = SystemTime.now()
        return DenialLog.Kept(
            time: now.sec, nanoseconds: now.nsec, uid: caller.uid, operation: operation,
            inode: tree.shownInode(device: object.status.device, inode: object.status.inode),
            subject: DeniedSubject(directory ?? object.object, name: name.map { Array($0.bytes) }), decision: decision,
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
        // Nobody else can ask the mount of a confined command.
        guard let base else { return }
        entry.view = number
        base.denials.add(entry)
    }
}
