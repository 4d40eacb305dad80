import Authorization
import Conformance

extension VectorOp {
    /// The core's question for this call. `object` is what it is put to: a list that differs from the
    /// object's own is needed to make "setacl" a change.
    public func coreOperation(on object: VectorNode?) throws -> Operation {
        switch call {
        case "open": .open(openIntent)
        case "access", "faccessat": .access(coreAccessMask)
        case "execve": .execute
        case "lookup": .lookup
        case "readdir": .list
        case "stat": .stat
        case "getacl": .readACL
        case "readlink": .readLink
        case "getxattr": .getXattr
        case "listxattr": .listXattr
        case "setxattr": .setXattr(isProtected: namesProtectedAttribute)
        case "removexattr": .removeXattr(isProtected: namesProtectedAttribute)
        case "truncate": .truncate
        case "unlink": .unlink
        case "rmdir": .removeDirectory
        case "create", "mkdir", "mkfifo", "symlink", "mknod": .create(try creationRequest())
        case "link": .link
        case "rename": .rename
        case "chmod": .chmod(FileMode(rawValue: mode?.value ?? 0))
        case "chown": .chown(uid: uid, gid: gid)
        case "utimes": .setTimes(access: timeChange, modification: timeChange)
        case "chflags": .chflags(try FileFlags(vectorWords: flags ?? []))
        case "setacl": .setACL(try differentList(from: object))
        case "clonefile": .clone
        case "exchangedata": .exchangeData
        case "authorize": .rights(try Rights(vectorWords: rights ?? []).expandingGenericRights)
        default: throw UnknownWord(word: call)
        }
    }

    private var openIntent: OpenIntent {
        let words = Set(flags ?? [])
        var intent: OpenIntent = []
        if words.contains("O_EXEC") { intent.insert(.execute) }
        if words.contains("O_RDWR") { intent.formUnion([.read, .write]) }
        if words.contains("O_WRONLY") { intent.insert(.write) }
        if words.contains("O_RDONLY"), !words.contains("O_EXEC") { intent.insert(.read) }
        if words.contains("O_APPEND") { intent.insert(.append) }
        if words.contains("O_TRUNC") { intent.insert(.truncate) }
        return intent
    }

    private var coreAccessMask: AccessMask {
        let words = Set(accessMode ?? [])
        var mask: AccessMask = []
        if words.contains("R_OK") { mask.insert(.read) }
        if words.contains("W_OK") { mask.insert(.write) }
        if words.contains("X_OK") { mask.insert(.execute) }
        return mask
    }

    private var namesProtectedAttribute: Bool { name?.hasPrefix("com.apple.system.") ?? false }
    private var timeChange: TimeChange { times == "now" ? .now : .chosen }

    /// What the call asks to be created.
    public func creationRequest() throws -> CreationRequest {
        let kind: ObjectKind =
            switch call {
            case "mkdir": .directory
            case "mkfifo": .fifo
            case "symlink": .symlink
            case "mknod": try ObjectKind(vectorWord: type ?? "chr")
            default: .file
            }
        return CreationRequest(
            kind: kind, mode: FileMode(rawValue: kind == .symlink ? 0o777 : mode?.value ?? 0o777),
            umask: umask?.value ?? 0, suppliedACL: try initialCoreACL())
    }

    private func differentList(from object: VectorNode?) throws -> ACL {
        var list = try object?.acl.map { try ACL(vector: $0) } ?? ACL([])
        list.entries.append(ACE(.everyone, .allow, .synchronize))
        return list
    }
}

/// What the core says of a case, in the words of the vectors.
public struct CoreOutcome: Sendable, Hashable {
    public var decision: Decision
    /// The object afterwards; nil if refused, or if the core has no function for the call's effect.
    public var effect: ObjectFacts?
    public var allowed: Bool { decision.isAllowed }
    public var errno: String? { decision.denial.map { "\($0)" } }
    public var stage: String { decision.stage.name }
}

/// A sandbox that refuses everything or nothing.
public struct SandboxSwitch: SandboxPolicy, Sendable {
    public var denies: Bool
    public init(denies: Bool) { self.denies = denies }
    public func permits(_ rights: Rights, on role: ObjectRole) -> Bool { !denies }
}

extension Vector {
    public func coreNodes() throws -> FactsByRole {
        FactsByRole(
            object: try object?.core(), parent: try parent?.core(), target: try target?.core(),
            targetParent: try targetParent?.core())
    }

    /// The vectors know uid 99 (Q16); set-uid directories (Q4) are looked at only by those that say so.
    public func coreVolume(ownerFromSetUserDirectory: Bool = false) -> VolumeState {
        var state = VolumeState()
        state.isReadOnly = volume.readOnly
        state.ignoresOwnership = volume.ignoreOwnership
        state.forbidsExecution = volume.noExec
        state.securelevel = securelevel
        state.unknown99 = true
        state.ownerFromSetUserDirectory = ownerFromSetUserDirectory ? .unlessRoot : .never
        return state
    }

    /// The case in the core's values, converted once for however many observers are to watch it.
    public func coreCase(
        _ groups: [UInt32: VectorGroup], ownerFromSetUserDirectory: Bool = false
    ) throws -> CoreCase {
        CoreCase(
            caller: credential(groups), nodes: try coreNodes(), operation: try op.coreOperation(on: object),
            volume: coreVolume(ownerFromSetUserDirectory: ownerFromSetUserDirectory),
            sandbox: SandboxSwitch(denies: sandboxDeny))
    }
}

/// A case in the core's values.
public struct CoreCase: Sendable {
    public var caller: VectorCredential
    public var nodes: FactsByRole
    public var operation: Authorization.Operation
    public var volume: VolumeState
    public var sandbox: SandboxSwitch

    /// The core's answer and effect, watched by `observer`.
    public func decide<O: EvaluationObserver>(observer: O) -> CoreOutcome {
        var inquiry = Inquiry(caller, on: volume, sandbox: sandbox, observer: observer)
        let decision = inquiry.authorize(operation, nodes)
        if !decision.isAllowed { return CoreOutcome(decision: decision) }
        if case .create(let request) = operation, let parent = nodes.parent {
            do {
                let created = try inquiry.newObject(request, in: parent, gid: caller.gid)
                return CoreOutcome(decision: decision, effect: created)
            } catch {
                return CoreOutcome(decision: .deny(.ENOMEM, .implicit))
            }
        }
        return CoreOutcome(
            decision: decision, effect: nodes.object.flatMap { effect(on: $0) })
    }

    private func effect(on object: ObjectFacts) -> ObjectFacts? {
        var changed = object
        switch operation {
        case .chmod(let mode): changed.mode = AttributeEffect.storedMode(mode, on: volume)
        case .chflags(let flags): changed.flags = AttributeEffect.flags(after: flags, on: object)
        case .chown(let uid, let gid):
            changed.mode = AttributeEffect.modeAfterChown(object, uid: uid, gid: gid)
            // Q1: accepted and forgotten.
            if !volume.ignoresOwnership {
                (changed.owner, changed.group) = (uid ?? object.owner, gid ?? object.group)
            }
        case .clone, .exchangeData: return nil
        default: break
        }
        return changed
    }
}

extension VectorEffects {
    /// The stated members that `facts` does not have; empty = agrees.
    public func differences(from facts: ObjectFacts) throws -> [String] {
        var differences: [String] = []
        if let owner, owner != facts.owner { differences.append("owner \(facts.owner)") }
        if let group, group != facts.group { differences.append("group \(facts.group)") }
        if let mode, mode.value != facts.mode.rawValue {
            differences.append("mode \(String(facts.mode.rawValue, radix: 8))")
        }
        if let flags, try FileFlags(vectorWords: flags) != facts.flags { differences.append("flags \(facts.flags)") }
        switch acl {
        case .absent where facts.acl != nil: differences.append("a list")
        case .present(let entries) where try ACL(vector: entries) != facts.acl:
            differences.append("list \(facts.acl.map { "\($0)" } ?? "none")")
        default: break
        }
        return differences
    }
}
