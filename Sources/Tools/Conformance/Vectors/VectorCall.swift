import Glibc

/// A vector's operation as system calls.
public struct VectorCall: Sendable {
    /// The calls, each in words (`SubjectCalls`). All of them must give the same.
    public var calls: [[String]]
    /// An errno that shows that the call was permitted: it failed for another reason.
    public var permittedErrno: String?

    /// What the answers mean: `ok` or the name of an errno.
    public func word(of answers: [String]) -> String {
        let words = answers.map { $0 == permittedErrno ? "ok" : $0 }
        return words.allSatisfy { $0 == words[0] } ? words[0] : words.joined(separator: ", then ")
    }

    /// - Throws: UnknownWord for a call that Linux does not have.
    public init(_ world: VectorWorld) throws {
        let op = world.vector.op
        let object = world.object
        let mode = String(op.mode?.value ?? 0)
        let umask = String(op.umask?.value ?? 0)
        var permitted: String?
        switch op.call {
        case "open":
            calls = [["open", object, String(try Self.openFlags(op))]]
            // Opened for writing without a reader: it was not the permission.
            if world.vector.object?.type == "fifo" { permitted = "ENXIO" }
        case "access": calls = [["access", object, String(Self.mask(op)), "0"]]
        case "faccessat": calls = [["access", object, String(Self.mask(op)), op.eaccess == true ? "512" : "0"]]
        case "execve":
            calls = [["exec", object]]
            // The kernel has read the text, which is no program.
            permitted = "ENOEXEC"
        case "lookup": calls = [["stat", object + "/below"], ["chdir", object]]
        case "readdir": calls = [["list", object]]
        case "getacl":
            calls = [["getxattr", object, "system.aclfs.acl"]]
            // There is no list: the question was allowed.
            permitted = "ENODATA"
        case "stat", "readlink", "listxattr", "unlink", "rmdir": calls = [[op.call, object]]
        case "getxattr", "removexattr": calls = [[op.call, object, op.name ?? ""]]
        case "setxattr": calls = [["setxattr", object, op.name ?? "", "text"]]
        case "truncate": calls = [["truncate", object, "3"]]
        case "create", "mkdir", "mkfifo": calls = [[op.call, world.newName, mode, umask]]
        case "mknod": calls = [["mknod", world.newName, mode, umask, op.type ?? "chr"]]
        case "symlink": calls = [["symlink", "somewhere", world.newName]]
        case "link": calls = [["link", object, world.newName]]
        case "rename": calls = [["rename", object, world.newName, "0"]]
        case "chmod": calls = [["chmod", object, mode]]
        case "chown": calls = [["chown", object, String(op.uid ?? .max), String(op.gid ?? .max)]]
        case "utimes": calls = [["utimes", object, op.times ?? "now"]]
        case "chflags":
            let flags = op.flags ?? []
            calls = [["setxattr", object, "system.aclfs.flags", flags.isEmpty ? "-" : flags.joined(separator: ",")]]
        case "setacl": calls = [["setxattr", object, "system.aclfs.acl", "user:#777 allow read,write,delete"]]
        default: throw UnknownWord(word: op.call)
        }
        permittedErrno = permitted
    }

    private static func mask(_ op: VectorOp) -> Int32 {
        (op.accessMode ?? []).reduce(0) { $0 | (["R_OK": R_OK, "W_OK": W_OK, "X_OK": X_OK][$1] ?? 0) }
    }

    private static func openFlags(_ op: VectorOp) throws -> Int32 {
        let known = [
            "O_RDONLY": O_RDONLY, "O_WRONLY": O_WRONLY, "O_RDWR": O_RDWR, "O_APPEND": O_APPEND, "O_TRUNC": O_TRUNC,
        ]
        var flags = O_NONBLOCK
        for word in op.flags ?? [] {
            guard let flag = known[word] else { throw UnknownWord(word: word) }
            flags |= flag
        }
        return flags
    }

    /// Where the state after success is seen.
    public static func affected(_ world: VectorWorld) -> String {
        switch world.vector.op.call {
        case "create", "mkdir", "mkfifo", "mknod", "symlink", "rename", "link": world.newName
        default: world.object
        }
    }
}
