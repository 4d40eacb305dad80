import Authorization
import Foundation
import Glibc
import TestSupport

/// Where a case becomes something else on a Linux mount. docs/vectors-on-linux.md says the same in words;
/// every rule that applies to a case is counted and printed, so that none is left out in silence.
struct LinuxDifference: Sendable {
    enum Outcome: Sendable {
        /// No system call says this: the evaluator's tests alone run it.
        case evaluatorOnly
        /// What the kernel answers before aclfs is asked: `ok` or the name of the errno.
        case answer(String)

        var word: String? {
            switch self {
            case .evaluatorOnly: nil
            case .answer(let word): word
            }
        }
    }
    var reason: String
    var outcome: Outcome
    var applies: @Sendable (Vector) -> Bool

    /// The first that applies counts.
    static let table: [LinuxDifference] = [
        .init(reason: "a list given at creation", outcome: .evaluatorOnly) {
            $0.op.initialACL != nil || $0.op.initialACLFlags != nil
        },
        .init(reason: "a call of macOS alone", outcome: .evaluatorOnly) {
            ["exchangedata", "clonefile", "authorize"].contains($0.op.call)
        },
        .init(reason: "open for execution", outcome: .evaluatorOnly) { $0.op.flags?.contains("O_EXEC") == true },
        .init(reason: "a sandbox profile", outcome: .evaluatorOnly) { $0.sandboxDeny },
        .init(reason: "execute without an x bit", outcome: .answer("EACCES")) {
            $0.op.call == "execve" && $0.object?.type == "file" && ($0.object?.mode.value ?? 0) & 0o111 == 0
        },
        .init(reason: "execute on a noexec mount", outcome: .answer("EACCES")) {
            $0.op.call == "execve" && $0.volume.noExec
        },
        .init(reason: "a device made by an ordinary user", outcome: .answer("EPERM")) {
            $0.op.call == "mknod" && $0.op.type != "fifo" && $0.cred.uid != 0
        },
        .init(reason: "user.* on what is no file or directory", outcome: .answer("EPERM")) {
            ["setxattr", "removexattr"].contains($0.op.call) && !hasUserAttributes($0) && isUserName($0)
        },
        .init(reason: "user.* read from what is no file or directory", outcome: .answer("ENODATA")) {
            $0.op.call == "getxattr" && !hasUserAttributes($0) && isUserName($0)
        },
        .init(reason: "opening a FIFO or device", outcome: .answer("ok")) {
            $0.op.call == "open" && ["fifo", "chr", "socket", "blk"].contains($0.object?.type)
        },
        .init(reason: "a change on a read-only mount", outcome: .answer("EROFS")) {
            $0.volume.readOnly && changes.contains($0.op.call)
        },
        .init(reason: "permission bits of a symlink", outcome: .evaluatorOnly) {
            // Linux shows every symlink as 0777.
            $0.object?.type == "symlink" && ($0.object?.mode.value ?? 0) & 0o777 != 0o777
                && $0.expect?.result == "deny" && $0.expect?.stage.hasPrefix("posix") == true
        },
        .init(reason: "unlink of a directory", outcome: .answer("EISDIR")) {
            $0.op.call == "unlink" && $0.object?.type == "dir" && !$0.volume.readOnly
        },
        .init(reason: "link to what the caller does not own (fs.protected_hardlinks)", outcome: .answer("EPERM")) {
            $0.op.call == "link" && isHardLinkProtected($0)
        },
    ]

    /// Refused by the kernel before the name in the directory is looked up.
    private static let changes: Set<String> = [
        "unlink", "rmdir", "rename", "chmod", "chown", "chflags", "setacl", "utimes", "setxattr", "removexattr",
        "truncate",
    ]

    private static func hasUserAttributes(_ vector: Vector) -> Bool {
        vector.object?.type == "file" || vector.object?.type == "dir"
    }
    private static func isUserName(_ vector: Vector) -> Bool { vector.op.name?.hasPrefix("user.") == true }

    /// Special files and files with set-id bits, linked by neither owner nor root.
    private static func isHardLinkProtected(_ vector: Vector) -> Bool {
        guard protectsHardLinks, let object = vector.object, vector.cred.uid != 0, vector.cred.uid != object.owner
        else { return false }
        if object.type != "file" { return object.type != "dir" }
        return object.mode.value & 0o4000 != 0 || object.mode.value & 0o2010 == 0o2010
    }
    static let protectsHardLinks: Bool = {
        let setting = try? String(contentsOfFile: "/proc/sys/fs/protected_hardlinks", encoding: .utf8)
        return setting?.hasPrefix("1") == true
    }()
}

/// What a vector gives on a mount.
struct LinuxExpectation {
    /// nil = not run here.
    var word: String?
    var reason: String?
    var effects: VectorEffects?

    init(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws {
        guard let expect = vector.expect else { throw FixtureError("\(vector.id) expects nothing") }
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

    /// With the sysctl aclfs is stricter than macOS (docs/authorization.md Q23).
    private static func isProtectedLink(_ vector: Vector, _ directory: [UInt32: VectorGroup]) throws -> Bool {
        guard vector.op.call == "link", LinuxDifference.protectsHardLinks, let object = vector.object else { return false }
        var volume = VolumeState()
        volume.ignoresOwnership = vector.volume.ignoreOwnership
        volume.isReadOnly = vector.volume.readOnly
        volume.unknown99 = true
        volume.protectsHardLinks = true
        var inquiry = Inquiry(vector.credential(directory), on: volume, sandbox: Unconfined(), observer: NoObserver())
        let nodes = Nodes(object: try object.core(), parent: try vector.parent?.core(), targetParent: try vector.targetParent?.core())
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
        return inquiry.authorize(operation, Nodes(object: try node.core())).isAllowed
    }
}
