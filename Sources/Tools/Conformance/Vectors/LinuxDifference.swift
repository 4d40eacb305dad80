import LinuxSystem

/// Where a case becomes something else on a Linux mount. docs/reference/vectors-on-linux.md says the same in words;
/// every rule that applies to a case is counted and printed, so that none is omitted silently.
public struct LinuxDifference: Sendable {
    public enum Outcome: Sendable {
        /// No system call says this: the evaluator's tests alone run it.
        case evaluatorOnly
        /// What the kernel answers before aclfs is asked: `ok` or the name of the errno.
        case answer(String)

        public var word: String? {
            switch self {
            case .evaluatorOnly: nil
            case .answer(let word): word
            }
        }
    }
    public var reason: String
    public var outcome: Outcome
    public var applies: @Sendable (Vector) -> Bool

    /// The first that applies counts.
    public static let table: [LinuxDifference] = [
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
        .init(reason: "a refused listing of attributes is empty", outcome: .answer("ok")) {
            $0.op.call == "listxattr" && $0.expect?.errno == "EACCES"
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
        guard KernelSettings.protectsHardLinks, let object = vector.object, vector.cred.uid != 0, vector.cred.uid != object.owner
        else { return false }
        if object.type != "file" { return object.type != "dir" }
        return object.mode.value & 0o4000 != 0 || object.mode.value & 0o2010 == 0o2010
    }
}
