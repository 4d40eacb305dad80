// docs/reference/authorization.md 5: new items.

extension Decision {
    /// 2.2, the rows create, mkdir, mkfifo, mknod, symlink.
    func create() throws(Refusal) -> Success {
        let parent = try parent()
        var kind: String
        switch operation.call {
        case "mkdir": kind = "dir"
        case "mkfifo": kind = "fifo"
        case "symlink": kind = "symlink"
        case "mknod": kind = operation.type ?? ""
        default: kind = "file"
        }
        // 2.2 mknod: a FIFO request goes to mkfifo; not root refuses before anything else.
        if operation.call == "mknod" && kind != "fifo" {
            if !subject.capabilities.contains("mknod") { throw Refusal("EPERM", "precondition:superuser") }
            if kind != "chr" && kind != "blk" { throw Refusal("EINVAL", "precondition:unsupported_node") }
        }
        // 1.3: more entries than a list can have are refused where the list is read in.
        if let supplied = operation.initialACL, supplied.count > 128 {
            throw Refusal("EINVAL", "precondition:acl_too_long")
        }
        // EEXIST before; 9a.3: for symlink after the sandbox.
        if operation.call != "symlink" && nodes.object != nil { throw Refusal("EEXIST", "precondition:exists") }
        try sandbox()
        if nodes.object != nil { throw Refusal("EEXIST", "precondition:exists") }

        // 9a.4: the right first.
        let stage = try request.authorize([kind == "dir" ? "append" : "write"], on: parent)

        // 2.2: which requested bits survive.
        let requested: UInt16
        switch kind {
        case "file", "dir": requested = (operation.mode ?? 0o777) & 0o777
        case "symlink": requested = 0o777
        default: requested = (operation.mode ?? 0o777) & 0o7777
        }
        var mode = requested & ~operation.umask
        // 5.3
        let group = request.seen(parent.node).group
        var owner = subject.uid
        if !subject.isRoot && !subject.capabilities.contains("fsetid") && !world.volume.ignoreOwnership && mode & 0o2000 != 0
            && subject.membership(group) != .member
        {
            throw Refusal("EPERM", "attr_policy")
        }
        // Q4
        if world.suiddir && subject.uid != 0 && !world.volume.ignoreOwnership && parent.node.mode & 0o4000 != 0
            && parent.node.owner != 0 && parent.node.owner != subject.uid
        {
            owner = parent.node.owner
            mode &= ~0o6000
            if kind == "file" { mode &= ~0o111 }
        }
        // Q1
        if world.volume.ignoreOwnership { mode &= ~0o6000 }
        // 5.1
        let inherited = inherit(
            parentACL: parent.node.acl, kind: kind, suppliedACL: operation.initialACL,
            suppliedFlags: operation.initialACLFlags)
        guard case .created(let acl) = inherited else { throw Refusal("ENOMEM", "precondition:acl_too_long") }
        return (stage, ModelEffects(owner: owner, group: group, mode: mode, flags: nil, acl: acl))
    }

    /// 2.2 clonefile, 5.5.
    func clone() throws(Refusal) -> Success {
        let object = try object()
        let destination = try destination()
        if target != nil { throw Refusal("EEXIST", "precondition:exists") }
        try sandbox()
        let isDirectory = object.node.type == "dir"
        _ = try request.authorize([isDirectory ? "append" : "write"], on: destination)
        let stage = try request.authorize(["read", "readattr", "readextattr", "readsecurity"], on: object)
        let inherited = inherit(
            parentACL: destination.node.acl, kind: object.node.type, suppliedACL: nil, suppliedFlags: [])
        guard case .created(let acl) = inherited else { throw Refusal("ENOMEM", "precondition:acl_too_long") }
        return (
            stage,
            ModelEffects(
                owner: subject.isRoot ? object.node.owner : subject.uid, group: request.seen(destination.node).group,
                mode: object.node.mode, flags: object.node.flags.subtracting(["restricted", "datavault"]), acl: acl)
        )
    }
}

public enum ModelInheritance: Sendable, Hashable {
    case created(ModelACL)
    /// ENOMEM
    case tooMany
}

/// 5.1 and 5.2: the list of a new item.
public func inherit(
    parentACL: [ModelEntry]?, kind: String, suppliedACL: [ModelEntry]?, suppliedFlags: Set<String>
) -> ModelInheritance {
    // 7.
    if kind == "symlink" { return .created(.absent) }
    // 1.
    let parentEntries = suppliedFlags.contains("no_inherit") ? [] : parentACL ?? []
    // 2.
    let wanted = kind == "dir" ? "directory_inherit" : "file_inherit"
    let inheritable = parentEntries.filter { $0.flags.contains(wanted) }
    // 6.: before anything is dropped.
    if (suppliedACL ?? []).count + inheritable.count > 128 { return .tooMany }
    // 5.
    if suppliedACL == nil && inheritable.isEmpty { return .created(.absent) }
    // 3.
    var result = (suppliedACL ?? []).filter { !$0.flags.contains("inherited") }
    // 4.
    for entry in inheritable { result.append(inheritedEntry(entry, kind: kind)) }
    return .created(.present(result))
}

/// 5.2: what becomes of the flags.
private func inheritedEntry(_ entry: ModelEntry, kind: String) -> ModelEntry {
    var copy = entry
    if kind != "dir" {
        copy.flags = ["inherited"]
    } else if entry.flags.contains("limit_inherit") {
        copy.flags = ["inherited"]
    } else {
        copy.flags = entry.flags.union(["inherited"])
        copy.flags.remove("only_inherit")
    }
    return copy
}

/// 5.6, "Apply inheritance to one item"; applied parents before children it is "Propagate". Q25: a list with no_inherit keeps its explicit
/// entries and the mark, and takes nothing.
public func reapplyInheritance(
    parentACL: [ModelEntry]?, kind: String, old: [ModelEntry]?, oldFlags: Set<String> = []
) -> [ModelEntry]? {
    let explicit = (old ?? []).filter { !$0.flags.contains("inherited") }
    let wanted = kind == "dir" ? "directory_inherit" : "file_inherit"
    if oldFlags.contains("no_inherit") { return explicit }
    let inheritable = (parentACL ?? []).filter { $0.flags.contains(wanted) }
    let result = explicit + inheritable.map { inheritedEntry($0, kind: kind) }
    // Empty result: no ACL.
    return result.isEmpty ? nil : result
}
