import Authorization
import MountOptions

/// The rights that a caller needs to find a FIFO, a socket or a device (docs/reference/security.md).
///
/// The kernel opens these without a request. So only the owner, and callers that hold what opening would grant, find their names.
struct SpecialFileGate: Sendable {
    private let isClosed: Bool
    private let hasDevices: Bool

    init(_ options: MountOptions) {
        isClosed = options.special == .gate
        // With `nodev` the kernel opens no device.
        hasDevices = !options.noDev
    }

    /// The rights that opening an object of this kind grants without a request; nil for kinds that the gate lets pass.
    func rights(behind kind: ObjectKind) -> Rights? {
        guard isClosed else { return nil }
        switch kind {
        case .fifo: return [.read, .write]
        case .socket: return .write
        case .characterDevice, .blockDevice: return hasDevices ? [.read, .write] : nil
        case .file, .directory, .symlink: return nil
        }
    }

    struct GateDecision {
        var decision: Decision
        /// The rule of the sandbox, if the sandbox denies.
        var rule: String?
        /// The rights that were asked.
        var rights: Rights
    }

    /// - Returns: nil if the gate lets the kind pass, or the subject owns the object.
    func decide(_ operands: borrowing Operands, _ credential: some Credential, on volume: VolumeState) -> GateDecision? {
        guard let object = operands.facts.object, let rights = rights(behind: object.kind) else { return nil }
        var inquiry = Inquiry(credential, on: volume, sandbox: operands.confinement, observer: NoObserver())
        let decision = inquiry.authorize(.rights(rights), operands.facts)
        // What is allowed asks no more: a refusal may cost a look at the caller's process.
        if decision.isAllowed
            ? inquiry.ownership(of: object) == .member
            : inquiry.authorize(.rights(.writeSecurity), operands.facts).stage == .ownerRight
        {
            return nil
        }
        if case .sandbox(let role) = decision.stage {
            return GateDecision(decision: decision, rule: operands.rule(on: role), rights: rights)
        }
        return GateDecision(decision: decision.isAllowed ? .allow(.special) : .deny(.EACCES, .special), rights: rights)
    }
}
