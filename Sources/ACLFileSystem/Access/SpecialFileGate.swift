import Authorization
import MountOptions

/// Which rights a caller needs to find a FIFO, a socket or a device. The kernel opens these without asking, so a name that leads to
/// one is shown only to callers who hold what opening would give, and to its owner (docs/security.md).
struct SpecialFileGate: Sendable {
    private let isClosed: Bool
    private let hasDevices: Bool

    init(_ options: MountOptions) {
        isClosed = options.special == .gate
        // With `nodev` the kernel opens none.
        hasDevices = !options.noDev
    }

    /// What opening an object of this kind gives without a question; nil where the gate does not ask.
    func rights(behind kind: ObjectKind) -> Rights? {
        guard isClosed else { return nil }
        switch kind {
        case .fifo: return [.read, .write]
        case .socket: return .write
        case .characterDevice, .blockDevice: return hasDevices ? [.read, .write] : nil
        case .file, .directory, .symlink: return nil
        }
    }

    struct Answer {
        var decision: Decision
        /// Of the sandbox that refuses.
        var rule: String?
        /// What was asked for.
        var rights: Rights
    }

    /// - Returns: nil if the gate does not ask, or asks no further because the subject owns the object.
    func decide(_ operands: borrowing Operands, _ credential: some Credential, on volume: VolumeState) -> Answer? {
        guard let kind = operands.facts.object?.kind, let rights = rights(behind: kind) else { return nil }
        var inquiry = Inquiry(credential, on: volume, sandbox: operands.confinement, observer: NoObserver())
        if inquiry.authorize(.rights(.writeSecurity), operands.facts).stage == .ownerRight { return nil }
        let decision = inquiry.authorize(.rights(rights), operands.facts)
        if case .sandbox(let role) = decision.stage { return Answer(decision: decision, rule: operands.rule(on: role), rights: rights) }
        return Answer(decision: decision.isAllowed ? .allow(.special) : .deny(.EACCES, .special), rights: rights)
    }
}
