import Authorization
import LinuxSystem

/// What a vector gives on a mount.
public struct LinuxExpectation: Sendable {
    /// `ok` or the name of an errno; nil = no system call expresses it.
    public var word: String?
    /// Why it differs from what the vector states; nil if it does not.
    public var reason: String?
    /// The state after success.
    public var effects: VectorEffects?

    /// - Throws: UnknownWord for a word of the vector that has no meaning here.
    public init(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws {
        guard let expect = vector.expect else { throw UnknownWord(word: "\(vector.id), which expects nothing") }
        word = expect.errno ?? "ok"
        effects = expect.result == "allow" ? expect.effects : nil
        let difference = LinuxDifference.table.first { $0.applies(vector) }
        // To these the kernel says EROFS before it looks the last name up.
        let isEarly = vector.volume.readOnly && ["unlink", "rmdir", "rename"].contains(vector.op.call)
        if difference?.outcome.word != nil || difference == nil, !isEarly, try Self.lacksSearch(vector, directory) {
            if word != "EACCES" { reason = "a directory on the path may not be searched" }
            (word, effects) = ("EACCES", nil)
        } else if let difference {
            let answer = difference.outcome.word
            if answer == word { return }
            (word, reason, effects) = (answer, difference.reason, nil)
        } else if word == "ok", try Self.lacksStatus(vector, directory) {
            (word, reason, effects) = ("EACCES", "execution asked where readattr is denied", nil)
        } else if word != "EPERM", try Self.isProtectedLink(vector, directory) {
            (word, reason, effects) = ("EPERM", "a link to what the caller may not read and write (fs.protected_hardlinks)", nil)
        }
    }

    /// With the sysctl aclfs is stricter than macOS (docs/reference/authorization.md Q23).
    private static func isProtectedLink(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws -> Bool {
        guard vector.op.call == "link", KernelSettings.protectsHardLinks, let object = vector.object else { return false }
        var volume = VolumeState()
        volume.ignoresOwnership = vector.volume.ignoreOwnership
        volume.isReadOnly = vector.volume.readOnly
        volume.unknown99 = true
        volume.protectsHardLinks = true
        var inquiry = Inquiry(vector.credential(directory), on: volume, sandbox: Unconfined(), observer: NoObserver())
        let nodes = FactsByRole(object: try object.core(), parent: try vector.parent?.core(), targetParent: try vector.targetParent?.core())
        return inquiry.authorize(.link, nodes).stage == .precondition(.protectedLink)
    }

    /// Before it asks about execution of a file, the kernel asks for the attributes with the caller's rights.
    private static func lacksStatus(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws -> Bool {
        guard let object = vector.object, object.type == "file" else { return false }
        let asks = vector.op.call == "execve" || vector.op.accessMode?.contains("X_OK") == true
        return try asks && !isAllowed(.stat, object, vector, directory)
    }

    /// A path leads through the parents, whose search permission is no part of a vector.
    private static func lacksSearch(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws -> Bool {
        if VectorWorld.objectCalls.contains(vector.op.call) { return false }
        for case let node? in [vector.parent, vector.targetParent] {
            if try !isAllowed(.lookup, node, vector, directory) { return true }
        }
        return false
    }

    private static func isAllowed(
        _ operation: Authorization.Operation, _ node: VectorNode, _ vector: Vector,
        _ directory: [UInt32: VectorGroup]
    ) throws -> Bool {
        var volume = VolumeState()
        volume.ignoresOwnership = vector.volume.ignoreOwnership
        volume.unknown99 = true
        var inquiry = Inquiry(
            vector.credential(directory), on: volume, sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(operation, FactsByRole(object: try node.core())).isAllowed
    }
}
