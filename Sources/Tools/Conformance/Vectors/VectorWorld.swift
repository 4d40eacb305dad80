import ACLFormats
import Authorization

/// The objects of one vector, built on a mount by root.
///
///     world/p/obj       object in its parent
///     world/p/new       target of a rename without target_parent, new name
///     world/tp/new      the same with target_parent
public struct VectorWorld: Sendable {
    public let vector: Vector
    /// Directory of the world on the mount.
    public let path: String

    public init(vector: Vector, path: String) { (self.vector, self.path) = (vector, path) }

    public var parent: String { path + "/p" }
    public var object: String { parent + "/obj" }
    public var newName: String { path + (vector.targetParent == nil ? "/p/new" : "/tp/new") }

    /// Calls that look at the object alone. Their world gets a parent that every user may search: search
    /// permission on the path is no part of a vector (schema, lookup_note).
    static let objectCalls: Set<String> = [
        "open", "access", "faccessat", "execve", "lookup", "readdir", "stat", "getacl", "readlink", "getxattr",
        "listxattr", "setxattr", "removexattr", "truncate", "chmod", "chown", "utimes", "chflags", "setacl",
    ]

    private var parentNode: VectorNode {
        if Self.objectCalls.contains(vector.op.call) { return VectorNode(type: "dir", owner: 0, group: 0, mode: 0o755) }
        return vector.parent ?? VectorNode(type: "dir", owner: 501, group: 20, mode: 0o755)
    }

    /// The calls of root that build the objects, in words (`SubjectCalls`).
    /// - Throws: UnknownWord for a word of the vector that has no meaning here.
    public func steps() throws -> [[String]] {
        var steps = [["mkdir", path, "0755", "0"], ["mkdir", parent, "0700", "0"]]
        if vector.targetParent != nil { steps.append(["mkdir", path + "/tp", "0700", "0"]) }
        if let node = vector.object {
            steps.append(try making(node, at: object))
            if vector.op.call == "removexattr" || vector.op.call == "getxattr", let name = vector.op.name,
                node.type == "file" || node.type == "dir", name.hasPrefix("user.")
            {
                steps.append(["setxattr", object, name, "text"])
            }
            if vector.op.call == "lookup" { steps.append(["create", object + "/below", "0644", "0"]) }
        }
        if let target = vector.target { steps.append(try making(target, at: newName)) }
        // Lists and flags after everything that they could prohibit, directories last.
        if let node = vector.object { steps += try finishing(node, at: object) }
        if let target = vector.target { steps += try finishing(target, at: newName) }
        steps += try finishing(parentNode, at: parent)
        if let node = vector.targetParent { steps += try finishing(node, at: path + "/tp") }
        return steps
    }

    private func making(_ node: VectorNode, at path: String) throws -> [String] {
        switch node.type {
        case "file": ["create", path, "0600", "0"]
        case "dir": ["mkdir", path, "0700", "0"]
        case "symlink": ["symlink", "nowhere", path]
        case "fifo", "socket", "chr", "blk": ["mknod", path, "0600", "0", node.type]
        default: throw UnknownWord(word: node.type)
        }
    }

    private func finishing(_ node: VectorNode, at path: String) throws -> [[String]] {
        var steps = [["chown", path, String(node.owner), String(node.group)]]
        if node.type != "symlink" { steps.append(["chmod", path, String(node.mode.value)]) }
        if let acl = node.acl { steps.append(["setxattr", path, "system.aclfs.acl", try Self.text(acl)]) }
        if !node.flags.isEmpty { steps.append(["setxattr", path, "system.aclfs.flags", node.flags.joined(separator: ",")]) }
        return steps
    }

    /// Entries as the value of `system.aclfs.acl`, with UUIDs for identities.
    public static func text(_ entries: [VectorEntry]) throws -> String {
        let text = ACLAttributeText.write(try ACL(vector: entries), isDirectory: true, names: NoNames())
        return String(decoding: text, as: UTF8.self)
    }
}
