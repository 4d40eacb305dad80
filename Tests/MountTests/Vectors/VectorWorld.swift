import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport

/// The objects of one vector, built on a mount by root.
///
///     world/p/obj       object in its parent
///     world/p/new       target of a rename without target_parent, new name
///     world/tp/new      the same with target_parent
struct VectorWorld {
    let vector: Vector
    /// Directory of the world on the mount.
    let path: String

    var parent: String { path + "/p" }
    var object: String { parent + "/obj" }
    var newName: String { path + (vector.targetParent == nil ? "/p/new" : "/tp/new") }

    /// Calls that look at the object alone. Their world gets a parent that anybody may search: search
    /// permission on the way is no part of a vector (schema, lookup_note).
    static let objectCalls: Set<String> = [
        "open", "access", "faccessat", "execve", "lookup", "readdir", "stat", "getacl", "readlink", "getxattr",
        "listxattr", "setxattr", "removexattr", "truncate", "chmod", "chown", "utimes", "chflags", "setacl",
    ]

    private var parentNode: VectorNode {
        let open = VectorNode(type: "dir", owner: 501, group: 20, mode: 0o755)
        return Self.objectCalls.contains(vector.op.call) ? open : vector.parent ?? open
    }

    func build(_ root: ActingProcess) throws {
        try root.must("mkdir", path, "0755", "0")
        try root.must("mkdir", parent, "0700", "0")
        if vector.targetParent != nil { try root.must("mkdir", path + "/tp", "0700", "0") }
        if let node = vector.object {
            try make(node, at: object, root)
            if vector.op.call == "removexattr" || vector.op.call == "getxattr", let name = vector.op.name,
                node.type == "file" || node.type == "dir", name.hasPrefix("user.")
            {
                try root.must("setxattr", object, name, "text")
            }
            if vector.op.call == "lookup" { try root.must("create", object + "/below", "0644", "0") }
        }
        if let target = vector.target { try make(target, at: newName, root) }
        // Lists and flags after everything that they could stand against, directories last.
        if let node = vector.object { try finish(node, at: object, root) }
        if let target = vector.target { try finish(target, at: newName, root) }
        try finish(parentNode, at: parent, root)
        if let node = vector.targetParent { try finish(node, at: path + "/tp", root) }
    }

    private func make(_ node: VectorNode, at path: String, _ root: ActingProcess) throws {
        switch node.type {
        case "file": try root.must("create", path, "0600", "0")
        case "dir": try root.must("mkdir", path, "0700", "0")
        case "symlink": try root.must("symlink", "nowhere", path)
        case "fifo", "socket", "chr", "blk": try root.must("mknod", path, "0600", "0", node.type)
        default: throw FixtureError("no type \(node.type)")
        }
    }

    private func finish(_ node: VectorNode, at path: String, _ root: ActingProcess) throws {
        try root.must("chown", path, String(node.owner), String(node.group))
        if node.type != "symlink" { try root.must("chmod", path, String(node.mode.value)) }
        if let acl = node.acl { try root.must("setxattr", path, "system.aclfs.acl", try Self.text(acl)) }
        if !node.flags.isEmpty {
            try root.must("setxattr", path, "system.aclfs.flags", node.flags.joined(separator: ","))
        }
    }

    static func text(_ entries: [VectorEntry]) throws -> String {
        let text = ACLAttributeText.write(try ACL(vector: entries), isDirectory: true, names: NoNames())
        return String(decoding: text, as: UTF8.self)
    }

    /// The user of the vector with the groups of his process; what the directory service adds is aclfs's to find.
    var user: TestUser {
        let cred = vector.cred
        return TestUser(uid: cred.uid, gid: cred.gid, groups: cred.groups.sorted(), ruid: cred.ruid, rgid: cred.rgid)
    }
}
