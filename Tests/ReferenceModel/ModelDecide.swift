// docs/reference/authorization.md 2.2: what each operation asks, of what, in which order.

/// Decides one operation. Search on the directories that lead to the objects is not part of it, except
/// for the call `lookup`.
public func decide(
    _ operation: ModelOperation, by credential: ModelCredential, on nodes: ModelNodes, in world: ModelWorld,
    directory: ModelDirectory
) -> ModelOutcome {
    // 2.2 access: real ids unless AT_EACCESS.
    let usesReal = (operation.call == "access" || operation.call == "faccessat") && !operation.eaccess
    let subject =
        usesReal ? Subject(real: credential, directory: directory) : Subject(effective: credential, directory: directory)
    let decision = Decision(
        operation: operation, nodes: nodes, world: world, request: Request(world: world, subject: subject))
    do throws(Refusal) {
        let (stage, effects) = try decision.run()
        return ModelOutcome(allowed: true, errno: nil, stage: stage, effects: effects)
    } catch {
        return ModelOutcome(allowed: false, errno: error.errno, stage: error.stage)
    }
}

struct Decision {
    typealias Success = (stage: String, effects: ModelEffects?)

    var operation: ModelOperation
    var nodes: ModelNodes
    var world: ModelWorld
    var request: Request

    var subject: Subject { request.subject }

    /// A node the operation cannot do without.
    func need(_ node: ModelNode?, _ name: String) throws(Refusal) -> Place {
        guard let node else { throw Refusal("ENOENT", "precondition:missing_\(name)") }
        return Place(name: name, node: node)
    }
    func object() throws(Refusal) -> Place { try need(nodes.object, "object") }
    func parent() throws(Refusal) -> Place { try need(nodes.parent, "parent") }
    /// Where the new name goes: target_parent, or the parent itself.
    func destination() throws(Refusal) -> Place {
        if let node = nodes.targetParent { return Place(name: "target_parent", node: node) }
        return try parent()
    }
    /// What is in the way at the destination.
    var target: Place? { nodes.target.map { Place(name: "target", node: $0) } }

    /// 3.4 step 2, Q11.
    func sandbox() throws(Refusal) {
        if world.sandboxDeny { throw Refusal("EPERM", "sandbox") }
    }

    /// Calls whose only demand is a set of rights on the object.
    func simple(_ rights: Set<String>) throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        return (try request.authorize(rights, on: object), nil)
    }

    func run() throws(Refusal) -> Success {
        switch operation.call {
        case "open": return try open()
        case "access", "faccessat": return try access()
        case "execve": return try execve()
        case "lookup": return try simple(["execute"])
        case "readdir": return try simple(["read"])
        case "stat", "getacl": return try simple(["readattr", "readsecurity"])
        case "readlink": return try readlink()
        case "getxattr", "listxattr", "setxattr", "removexattr": return try extendedAttribute()
        case "truncate": return try truncate()
        case "unlink", "rmdir": return try remove()
        case "create", "mkdir", "mkfifo", "symlink", "mknod": return try create()
        case "link": return try link()
        case "rename": return try rename()
        case "chmod": return try chmod()
        case "chown": return try chown()
        case "utimes": return try utimes()
        case "chflags": return try chflags()
        case "setacl": return try setACL()
        case "clonefile": return try clone()
        case "exchangedata": return try exchange()
        case "authorize": return try direct()
        default:
            // 2.4, last row.
            throw Refusal("EPERM", "precondition:unmapped")
        }
    }

    // MARK: reading and writing

    /// 2.2, the four rows of open, and O_EXEC.
    func open() throws(Refusal) -> Success {
        let object = try object()
        let type = object.node.type
        let flags = operation.flags
        let isReadWrite = flags.contains("O_RDWR")
        let isWriteOnly = flags.contains("O_WRONLY")
        let truncates = flags.contains("O_TRUNC")
        let executes = flags.contains("O_EXEC") || flags.contains("O_SEARCH")

        if executes {
            if type == "dir" && !flags.contains("O_DIRECTORY") && !flags.contains("O_SEARCH") {
                throw Refusal("EISDIR", "precondition:is_directory")
            }
            if type != "file" && type != "dir" { throw Refusal("EACCES", "precondition:not_regular") }
        }
        if type == "dir" && (isReadWrite || isWriteOnly || truncates) {
            throw Refusal("EISDIR", "precondition:is_directory")
        }
        try sandbox()

        var rights: Set<String> = []
        if executes {
            rights.insert("execute")
        } else if !isWriteOnly {
            rights.insert("read")
        }
        if truncates {
            rights.insert("write")
        } else if isReadWrite || isWriteOnly {
            rights.insert(flags.contains("O_APPEND") ? "append" : "write")
        }
        return (try request.authorize(rights, on: object), nil)
    }

    func access() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        var rights: Set<String> = []
        if operation.accessMode.contains("R_OK") { rights.insert("read") }
        if operation.accessMode.contains("W_OK") {
            rights.insert("write")
            if object.node.type == "dir" { rights.insert("append") }
        }
        if operation.accessMode.contains("X_OK") { rights.insert("execute") }
        // Existence only: none.
        if rights.isEmpty { return ("implicit", nil) }
        return (try request.authorize(rights, on: object), nil)
    }

    /// 2.1: here the sandbox comes after the tests of the item.
    func execve() throws(Refusal) -> Success {
        let object = try object()
        if object.node.type != "file" { throw Refusal("EACCES", "precondition:not_regular") }
        if object.node.mode & 0o111 == 0 { throw Refusal("EACCES", "precondition:no_x_bit") }
        try sandbox()
        return (try request.authorize(["execute"], on: object), nil)
    }

    func readlink() throws(Refusal) -> Success {
        if try object().node.type != "symlink" { throw Refusal("EINVAL", "precondition:not_a_link") }
        return try simple(["read"])
    }

    /// 2.2 with 1.3 for the protected names and the kinds of node.
    func extendedAttribute() throws(Refusal) -> Success {
        let object = try object()
        if let name = operation.name, name.hasPrefix("com.apple.system.") {
            let readByRoot =
                operation.call == "getxattr" && name == "com.apple.system.Security" && subject.isRoot
            if !readByRoot { throw Refusal("EPERM", "precondition:protected_xattr") }
        }
        if object.node.type == "chr" || object.node.type == "blk" {
            throw Refusal("EPERM", "precondition:unsupported_node")
        }
        switch operation.call {
        case "getxattr", "listxattr": return try simple(["readextattr"])
        default: return try simple(["writeextattr"])
        }
    }

    /// 9a.3: the sandbox comes before the type errors.
    func truncate() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        if object.node.type == "dir" { throw Refusal("EISDIR", "precondition:is_directory") }
        if object.node.type != "file" { throw Refusal("EINVAL", "precondition:not_regular") }
        return (try request.authorize(["write"], on: object), nil)
    }

    func exchange() throws(Refusal) -> Success {
        let object = try object()
        let second = try need(nodes.target, "target")
        if object.node.type != "file" || second.node.type != "file" {
            throw Refusal("EINVAL", "precondition:not_regular")
        }
        try sandbox()
        _ = try request.authorize(["read", "write"], on: object)
        return (try request.authorize(["read", "write"], on: second), nil)
    }

    /// The engine asked directly.
    func direct() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        let rights = expandedRights(operation.rights)
        if rights.isEmpty { return ("implicit", nil) }
        let parent = nodes.parent.map { Place(name: "parent", node: $0) }
        return (try request.authorize(rights, on: object, parent: parent), nil)
    }

    // MARK: names

    func remove() throws(Refusal) -> Success {
        let object = try object()
        let parent = try parent()
        if operation.call == "unlink" && object.node.type == "dir" {
            throw Refusal("EPERM", "precondition:is_directory")
        }
        if operation.call == "rmdir" && object.node.type != "dir" {
            throw Refusal("ENOTDIR", "precondition:not_directory")
        }
        try sandbox()
        return (try request.authorize(["delete"], on: object, parent: parent), nil)
    }

    func link() throws(Refusal) -> Success {
        let object = try object()
        let destination = try destination()
        if object.node.type == "dir" { throw Refusal("EPERM", "precondition:is_directory") }
        try sandbox()
        _ = try request.authorize(["link_target"], on: object)
        // The row's order: link target, EEXIST, add_file.
        if target != nil { throw Refusal("EEXIST", "precondition:exists") }
        return (try request.authorize(["write"], on: destination), nil)
    }

    func rename() throws(Refusal) -> Success {
        let object = try object()
        let source = try parent()
        let destination = try destination()
        let isDirectory = object.node.type == "dir"
        // 9a.3: the sandbox comes before the type errors.
        try sandbox()
        if let target {
            if isDirectory && target.node.type != "dir" { throw Refusal("ENOTDIR", "precondition:not_directory") }
            if !isDirectory && target.node.type == "dir" { throw Refusal("EISDIR", "precondition:is_directory") }
        }
        // The item with its own parent; a directory also rewrites its "..".
        _ = try request.authorize(isDirectory ? ["delete", "append"] : ["delete"], on: object, parent: source)
        // The directory that receives the name.
        let stage = try request.authorize([isDirectory ? "append" : "write"], on: destination)
        // What is replaced, with the directory it is in (for a directory: Q3).
        if let target {
            return (try request.authorize(["delete"], on: target, parent: destination), nil)
        }
        return (stage, nil)
    }
}
