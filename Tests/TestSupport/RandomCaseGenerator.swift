import Conformance

/// Makes cases in the form of the vectors, without expectation, so that both evaluators can take them.
/// The caller, the objects and the entries are drawn from a few identities and the rights that matter
/// to the call, so that rules meet each other often.
public struct RandomCaseGenerator: Sendable {
    public let seed: UInt64
    private var random: SplitMix64
    private var count = 0

    public init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed)
    }

    /// Every call of the schema, the commonest more often.
    public static let calls = [
        "open", "open", "open", "access", "faccessat", "execve", "lookup", "readdir", "stat", "getacl", "readlink",
        "getxattr", "listxattr", "setxattr", "removexattr", "truncate", "unlink", "unlink", "rmdir", "create",
        "create", "mkdir", "mkfifo", "symlink", "mknod", "link", "rename", "rename", "rename", "chmod", "chown",
        "chown", "utimes", "chflags", "setacl", "clonefile", "exchangedata", "authorize", "authorize",
    ]

    public mutating func next() -> Vector {
        let call = random.pick(Self.calls)
        return next(call)
    }

    /// A case of one call.
    public mutating func next(_ call: String) -> Vector {
        count += 1
        let op = operation(call)
        var vector = Vector(
            id: "G\(seed)-\(count)", title: "\(call), seed \(seed), case \(count)", cred: credential(call), op: op)
        vector.volume.readOnly = random.chance(6)
        vector.volume.ignoreOwnership = random.chance(5)
        vector.volume.noExec = random.chance(8)
        vector.securelevel = random.pick([0, 0, 0, 1, 1, -1, 2])
        vector.sandboxDeny = random.chance(3)
        let caller = vector.cred
        switch call {
        case "create", "mkdir", "mkfifo", "symlink", "mknod":
            vector.parent = node("dir", call == "mkdir" ? ["add_subdirectory"] : ["add_file"], caller)
            if random.chance(3) { vector.object = node("file", [], caller) }
        default:
            let type = objectType(call)
            vector.object = node(type, objectRights(call, type: type, op: op), caller)
            vector.parent = node("dir", parentRights(call, type: type), caller)
            addTargets(&vector)
        }
        completeFlags(&vector)
        return vector
    }

    // MARK: the caller

    private mutating func credential(_ call: String) -> VectorCred {
        let uid: UInt32 = random.chance(8) ? 0 : random.pick([501, 502, 503, 504])
        var cred = VectorCred(uid: uid, gid: uid == 0 ? 0 : random.pick([20, 20, 20, 600, 601, 602]))
        if random.chance(80) { cred.groups.append(20) }
        cred.groups += random.some(of: [12, 600, 601, 602], percent: 25)
        if random.chance(15) { cred.directoryOptOut = true }
        if random.chance(6) { cred.groupsUnknown = true }
        if (call == "access" || call == "faccessat") && random.chance(50) {
            cred.ruid = random.pick([0, 501, 502, 503, 504])
            cred.rgid = random.pick([0, 12, 20, 600, 601])
        }
        return cred
    }

    private mutating func someUser(_ caller: VectorCred) -> UInt32 {
        if random.chance(35) { return caller.uid }
        if random.chance(20), let real = caller.ruid { return real }
        return random.chance(3) ? 99 : random.pick([0, 501, 502, 503, 504])
    }

    private mutating func someGroup(_ caller: VectorCred) -> UInt32 {
        if random.chance(20) { return caller.gid }
        return random.chance(3) ? 99 : random.pick([0, 12, 20, 20, 600, 601, 602])
    }

    // MARK: objects

    private mutating func node(_ type: String, _ relevant: [String], _ caller: VectorCred) -> VectorNode {
        let isDirectory = type == "dir"
        var mode: UInt16 = random.pick(
            isDirectory
                ? [0o755, 0o775, 0o777, 0o700, 0o1777, 0o1777, 0o555, 0o000, 0o2775]
                : [0o644, 0o664, 0o600, 0o755, 0o000, 0o444, 0o604, 0o066])
        if random.chance(40) { mode = UInt16(random.below(0o1000)) }
        if random.chance(isDirectory ? 15 : 5) { mode |= 0o1000 }
        if random.chance(8) { mode |= random.pick([0o2000, 0o4000, 0o6000]) }
        var flags: [String] = []
        if random.chance(22) {
            flags = [random.pick(["uchg", "uappnd", "schg", "sappnd", "nodump", "hidden", "arch", "opaque", "sunlnk"])]
            if random.chance(25) { flags.append(random.pick(["nodump", "compressed", "uchg", "sappnd"])) }
            if flags.count == 2 && flags[0] == flags[1] { flags.removeLast() }
        }
        return VectorNode(
            type: type, owner: someUser(caller), group: someGroup(caller), mode: mode, flags: flags,
            acl: random.chance(28) ? nil : list(relevant, caller))
    }

    private mutating func list(_ relevant: [String], _ caller: VectorCred) -> [VectorEntry] {
        (0..<random.pick([0, 1, 1, 2, 2, 3, 3, 4, 6])).map { _ in entry(relevant, caller) }
    }

    public static let everyRight = [
        "read", "write", "execute", "list", "add_file", "search", "delete", "append", "add_subdirectory",
        "delete_child", "readattr", "writeattr", "readextattr", "writeextattr", "readsecurity", "writesecurity",
        "chown", "synchronize",
    ]

    private mutating func entry(_ relevant: [String], _ caller: VectorCred) -> VectorEntry {
        var who: String
        switch random.below(10) {
        case 0, 1, 2: who = "user:\(caller.uid)"
        case 3: who = "user:\(random.pick([0, 501, 502, 503, 504]))"
        case 4, 5: who = "group:\(random.pick([0, 12, 20, 600, 601, 602]))"
        case 6: who = "everyone"
        case 7: who = "owner"
        case 8: who = "group"
        default: who = random.pick(["nobody", "uuid:0BADF00D-0000-4000-8000-00000000C0DE", "everyone"])
        }
        var rights = relevant.isEmpty ? [] : random.some(of: relevant, percent: 60)
        if rights.isEmpty || random.chance(30) { rights += random.some(of: Self.everyRight, percent: 12) }
        if random.chance(3) {
            rights.append(random.pick(["generic_all", "generic_read", "generic_write", "generic_execute"]))
        }
        if rights.isEmpty { rights = [relevant.first ?? "read"] }
        var seen: Set<String> = []
        rights = rights.filter { seen.insert($0).inserted }
        var flags: [String] = []
        if random.chance(30) {
            flags = random.some(of: ["inherited", "file_inherit", "directory_inherit", "limit_inherit"], percent: 45)
            if random.chance(25) { flags.append("only_inherit") }
        }
        let kind = random.chance(2) ? "audit" : random.pick(["allow", "allow", "deny"])
        return VectorEntry(who: who, kind: kind, rights: rights, flags: flags)
    }

    private mutating func objectType(_ call: String) -> String {
        switch call {
        case "lookup", "readdir": return "dir"
        case "rmdir": return random.chance(5) ? "file" : "dir"
        case "unlink", "link": return random.pick(["file", "file", "file", "file", "symlink", "fifo", "dir"])
        case "readlink": return random.chance(5) ? "file" : "symlink"
        case "truncate", "execve": return random.chance(6) ? random.pick(["dir", "fifo"]) : "file"
        case "exchangedata": return random.chance(5) ? "dir" : "file"
        case "rename": return random.pick(["file", "file", "dir", "dir", "symlink"])
        case "getxattr", "listxattr", "setxattr", "removexattr":
            return random.pick(["file", "file", "dir", "symlink", "fifo", "socket", "chr"])
        default:
            return random.pick(["file", "file", "file", "file", "dir", "dir", "fifo", "socket", "chr", "blk"])
        }
    }

    private func objectRights(_ call: String, type: String, op: VectorOp) -> [String] {
        switch call {
        case "open": ["read", "write", "append", "execute"]
        case "access", "faccessat": ["read", "write", "execute", "append"]
        case "execve", "lookup": ["execute"]
        case "readdir", "readlink": ["read"]
        case "stat", "getacl": ["readattr", "readsecurity"]
        case "getxattr", "listxattr": ["readextattr"]
        case "setxattr", "removexattr": ["writeextattr"]
        case "truncate": ["write"]
        case "unlink", "rmdir": ["delete"]
        case "rename": type == "dir" ? ["delete", "add_subdirectory"] : ["delete"]
        case "chmod", "setacl", "chflags": ["writesecurity"]
        case "chown": ["chown", "writesecurity"]
        case "utimes": ["writeattr"]
        case "clonefile": ["read", "readattr", "readextattr", "readsecurity"]
        case "exchangedata": ["read", "write"]
        case "authorize": op.rights ?? []
        default: []
        }
    }

    private func parentRights(_ call: String, type: String) -> [String] {
        switch call {
        case "unlink", "rmdir", "authorize": ["delete_child"]
        case "rename": ["delete_child", type == "dir" ? "add_subdirectory" : "add_file"]
        default: []
        }
    }

    private mutating func addTargets(_ vector: inout Vector) {
        let type = vector.object?.type ?? "file"
        let adds = type == "dir" ? "add_subdirectory" : "add_file"
        switch vector.op.call {
        case "rename":
            if random.chance(55) { vector.targetParent = node("dir", [adds, "delete_child"], vector.cred) }
            if random.chance(40) {
                let clashes = random.chance(8)
                vector.target = node((type == "dir") != clashes ? "dir" : "file", ["delete"], vector.cred)
            }
        case "link", "clonefile":
            vector.targetParent = node("dir", [adds], vector.cred)
            if random.chance(5) { vector.target = node("file", [], vector.cred) }
        case "exchangedata":
            vector.target = node("file", ["read", "write"], vector.cred)
        default: break
        }
    }

    // MARK: the call

    private mutating func operation(_ call: String) -> VectorOp {
        var op = VectorOp(call)
        switch call {
        case "open":
            op.flags =
                random.chance(12)
                ? ["O_EXEC"]
                : [random.pick(["O_RDONLY", "O_WRONLY", "O_RDWR"])]
                    + random.some(of: ["O_APPEND", "O_TRUNC"], percent: 30)
        case "access", "faccessat":
            op.accessMode = random.some(of: ["R_OK", "W_OK", "X_OK"], percent: 50)
            if op.accessMode == [] { op.accessMode = ["F_OK"] }
            if call == "faccessat" { op.eaccess = random.chance(80) }
        case "getxattr", "setxattr", "removexattr":
            op.name = random.chance(12) ? "com.apple.system.Security" : "user.note"
        case "create", "mkdir", "mkfifo", "symlink", "mknod":
            op.umask = Octal(random.pick([0o022, 0o002, 0o077, 0]))
            if call != "symlink" {
                op.mode = Octal(random.chance(40) ? UInt16(random.below(0o10000)) : random.pick([0o644, 0o755, 0o2755]))
            }
            if call == "mknod" { op.type = random.pick(["chr", "blk", "fifo", "socket"]) }
            if call != "symlink" && call != "mknod" && random.chance(20) {
                let nobody = VectorCred(uid: 502, gid: 20)
                op.initialACL = list([], nobody)
                if random.chance(25) { op.initialACLFlags = ["no_inherit"] }
            }
        case "chmod":
            op.mode = Octal(random.chance(40) ? UInt16(random.below(0o10000)) : random.pick([0o600, 0o755, 0o2755, 0o4755]))
        case "chown":
            if random.chance(60) { op.uid = random.pick([0, 501, 502, 503, 504]) }
            if op.uid == nil || random.chance(50) { op.gid = random.pick([0, 20, 600, 601, 602]) }
        case "utimes":
            op.times = random.pick(["now", "explicit"])
        case "authorize":
            op.rights = random.some(of: Self.everyRight, percent: 14)
            if op.rights == [] { op.rights = [random.pick(Self.everyRight)] }
        default: break
        }
        return op
    }

    /// chflags names the complete list: the old one with a few changes; chown often names the caller.
    private mutating func completeFlags(_ vector: inout Vector) {
        if vector.op.call == "chflags" {
            var flags = vector.object?.flags ?? []
            if random.chance(40) { flags.removeAll { _ in random.chance(50) } }
            if random.chance(60) {
                let added = random.pick(["nodump", "uchg", "uappnd", "opaque", "hidden", "arch", "schg", "sappnd"])
                if !flags.contains(added) { flags.append(added) }
            }
            vector.op.flags = flags
        }
        if vector.op.call == "chown" && random.chance(40) {
            if vector.op.uid != nil { vector.op.uid = random.chance(60) ? vector.cred.uid : vector.object?.owner }
            if vector.op.gid != nil { vector.op.gid = random.chance(60) ? vector.cred.gid : vector.object?.group }
        }
    }
}
