import Glibc
import TestSupport

/// A vector's operation as one system call.
enum VectorCall {
    static func run(_ world: VectorWorld, _ actor: ActingProcess) throws -> String {
        let op = world.vector.op
        let object = world.object
        let mode = String(op.mode?.value ?? 0)
        let umask = String(op.umask?.value ?? 0)
        func ask(_ words: String...) throws -> String { try actor.call(words).word }
        switch op.call {
        case "open": return try open(world, actor)
        case "access": return try ask("access", object, String(mask(op)), "0")
        case "faccessat": return try ask("access", object, String(mask(op)), op.eaccess == true ? "512" : "0")
        case "execve":
            let word = try ask("exec", object)
            // The kernel has read the text, which is no program.
            return word == "ENOEXEC" ? "ok" : word
        case "lookup":
            let below = try ask("stat", object + "/below")
            let entered = try ask("chdir", object)
            return below == entered ? below : "stat below: \(below), chdir: \(entered)"
        case "readdir": return try ask("list", object)
        case "stat": return try ask("stat", object)
        case "getacl":
            let word = try ask("getxattr", object, "system.aclfs.acl")
            // There is no list: the question was allowed.
            return word == "ENODATA" ? "ok" : word
        case "readlink": return try ask("readlink", object)
        case "getxattr", "removexattr": return try ask(op.call, object, op.name ?? "")
        case "listxattr": return try ask("listxattr", object)
        case "setxattr": return try ask("setxattr", object, op.name ?? "", "text")
        case "truncate": return try ask("truncate", object, "3")
        case "unlink", "rmdir": return try ask(op.call, object)
        case "create", "mkdir", "mkfifo": return try ask(op.call, world.newName, mode, umask)
        case "mknod": return try ask("mknod", world.newName, mode, umask, op.type ?? "chr")
        case "symlink": return try ask("symlink", "somewhere", world.newName)
        case "link": return try ask("link", object, world.newName)
        case "rename": return try ask("rename", object, world.newName, "0")
        case "chmod": return try ask("chmod", object, mode)
        case "chown": return try ask("chown", object, String(op.uid ?? .max), String(op.gid ?? .max))
        case "utimes": return try ask("utimes", object, op.times ?? "now")
        case "chflags":
            let flags = op.flags ?? []
            return try ask(
                "setxattr", object, "system.aclfs.flags", flags.isEmpty ? "-" : flags.joined(separator: ","))
        case "setacl": return try ask("setxattr", object, "system.aclfs.acl", "user:#777 allow read,write,delete")
        default: throw FixtureError("no call for \(op.call)")
        }
    }

    private static func mask(_ op: VectorOp) -> Int32 {
        (op.accessMode ?? []).reduce(0) { $0 | (["R_OK": R_OK, "W_OK": W_OK, "X_OK": X_OK][$1] ?? 0) }
    }

    private static func open(_ world: VectorWorld, _ actor: ActingProcess) throws -> String {
        let known = [
            "O_RDONLY": O_RDONLY, "O_WRONLY": O_WRONLY, "O_RDWR": O_RDWR, "O_APPEND": O_APPEND, "O_TRUNC": O_TRUNC,
        ]
        var flags = O_NONBLOCK
        for word in world.vector.op.flags ?? [] {
            guard let flag = known[word] else { throw FixtureError("no flag \(word)") }
            flags |= flag
        }
        let word = try actor.call("open", world.object, String(flags)).word
        // Opened for writing without a reader: it was not the permission.
        return world.vector.object?.type == "fifo" && word == "ENXIO" ? "ok" : word
    }

    /// Where the state after success is seen.
    static func affected(_ world: VectorWorld) -> String {
        switch world.vector.op.call {
        case "create", "mkdir", "mkfifo", "mknod", "symlink", "rename", "link": world.newName
        default: world.object
        }
    }
}
