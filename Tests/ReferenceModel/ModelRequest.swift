// docs/reference/authorization.md 3.4, steps 4 to 9: one set of rights asked on one object.

/// An object and the name it has in stages.
struct Place {
    var name: String
    var node: ModelNode
}

struct Request {
    var world: ModelWorld
    var subject: Subject

    /// 1.4: uid/gid 99 become the caller's own, for everybody but root, before any ownership test.
    func seen(_ node: ModelNode) -> ModelNode {
        if subject.uid == 0 || !world.unknown99 { return node }
        var node = node
        if node.owner == 99 { node.owner = subject.uid }
        if node.group == 99 { node.group = subject.gid }
        return node
    }

    /// The stage that supplied the last right, or the refusal.
    /// - Parameters:
    ///   - parent: needed when `delete` is asked.
    ///   - ignoredFlags: 3.8, during a flags change.
    ///   - attributeChange: 9a.1, a read-only volume refuses on every type of node.
    func authorize(
        _ asked: Set<String>, on item: Place, parent: Place? = nil, ignoredFlags: Set<String> = [],
        attributeChange: Bool = false, ownerChange: Bool = false
    ) throws(Refusal) -> String {
        let asksDelete = asked.contains("delete")

        // Step 4 (3.1 rule 1): read-only volume.
        if world.volume.readOnly && !asked.isDisjoint(with: writeRights) {
            if !isSpecial(item.node.type) || asksDelete || asked.contains("delete_child") || attributeChange {
                throw Refusal("EROFS", "precondition:read_only")
            }
        }
        // Step 4 (3.1 rule 2): no-exec volume.
        if world.volume.noExec && asked.contains("execute") && item.node.type == "file" {
            throw Refusal("EACCES", "precondition:no_exec")
        }

        // Step 5 with Q1, for everybody but root (D6 speaks of the non-root caller).
        if world.volume.ignoreOwnership && !subject.isRoot {
            try testFlags(asked, on: item, parent: parent, ignoredFlags: ignoredFlags)
            return "ownership_ignored"
        }

        // Step 6: root goes to step 8, then 3.5.
        if subject.isRoot {
            try testFlags(asked, on: item, parent: parent, ignoredFlags: ignoredFlags)
            if asked.contains("execute") && item.node.type == "file" && item.node.mode & 0o111 == 0 {
                throw Refusal("EPERM", "root:no_x_bit")
            }
            return "root"
        }

        do throws(Refusal) {
            return try judge(asked, on: item, parent: parent, ignoredFlags: ignoredFlags, held: [], ownerChange: ownerChange)
        } catch {
            // 3.12: what no capability passes stands.
            let kinds = ["acl:", "posix:", "sticky", "no_bsd_equivalent"]
            if subject.capabilities.isEmpty || !kinds.contains(where: { error.stage.hasPrefix($0) }) { throw error }
            _ = try judge(
                asked, on: item, parent: parent, ignoredFlags: ignoredFlags, held: subject.capabilities, ownerChange: ownerChange)
            return "capability"
        }
    }

    /// 3.12: the rights that capabilities decide, on a node.
    private func decided(by held: Set<String>, on node: ModelNode, ownerChange: Bool) -> Set<String> {
        var rights: Set<String> = []
        if held.contains("dac_read_search") {
            rights.formUnion(["read", "readattr", "readextattr", "readsecurity"])
            if node.type == "dir" { rights.insert("execute") }
        }
        if held.contains("dac_override") {
            rights.formUnion([
                "read", "write", "append", "delete_child", "readattr", "writeattr", "readextattr", "writeextattr", "readsecurity",
                "synchronize",
            ])
            if node.type != "file" || node.mode & 0o111 != 0 { rights.insert("execute") }
        }
        if held.contains("chown") {
            rights.insert("chown")
            if ownerChange { rights.insert("writesecurity") }
        }
        return rights
    }

    /// Steps 6 to 9 for others than root.
    private func judge(
        _ asked: Set<String>, on item: Place, parent: Place?, ignoredFlags: Set<String>, held: Set<String>, ownerChange: Bool
    ) throws(Refusal) -> String {
        let asksDelete = asked.contains("delete")
        let overrides = held.contains("dac_override")
        let node = seen(item.node)
        let isOwner = subject.uid == node.owner || held.contains("fowner")
        var stage = "implicit"
        // Link target and check-immutable ask nothing but the flags (3.1 rule 8).
        var remaining = asked.subtracting(["delete", "link_target", "check_immutable"])

        // Step 6: the owner has readsecurity and writesecurity (3.6, D3).
        if isOwner && !remaining.isDisjoint(with: ["readsecurity", "writesecurity"]) {
            remaining.subtract(["readsecurity", "writesecurity"])
            stage = "owner_right"
        }
        // Step 6: chown covers writesecurity.
        if remaining.contains("chown") { remaining.remove("writesecurity") }
        remaining.subtract(decided(by: held, on: node, ownerChange: ownerChange))

        // Step 7, delete: the item's list for delete, then the parent's for delete_child.
        var deleteUndecided = false
        if asksDelete {
            var own = subject.scan(node.acl, for: ["delete"], owner: node.owner, group: node.group)
            if case .denied = own, overrides { own = .undecided(["delete"], lastGrant: nil) }
            switch own {
            case .denied(let index):
                throw Refusal("EACCES", "acl:\(item.name)[\(index)]")
            case .allowed(let index):
                stage = "acl:\(item.name)[\(index)]"
            case .undecided:
                deleteUndecided = true
                if let parent {
                    let directory = seen(parent.node)
                    switch subject.scan(
                        directory.acl, for: ["delete_child"], owner: directory.owner, group: directory.group)
                    {
                    case .denied(let index):
                        if !overrides { throw Refusal("EACCES", "acl:\(parent.name)[\(index)]") }
                    case .allowed(let index):
                        stage = "acl:\(parent.name)[\(index)]"
                        deleteUndecided = false
                    case .undecided:
                        break
                    }
                }
            }
        }
        // Step 7, other rights: the item's list, delete included in the requested set.
        if !remaining.isEmpty {
            let requested = asksDelete && !overrides ? remaining.union(["delete"]) : remaining
            switch subject.scan(node.acl, for: requested, owner: node.owner, group: node.group) {
            case .denied(let index):
                throw Refusal("EACCES", "acl:\(item.name)[\(index)]")
            case .allowed(let index):
                stage = "acl:\(item.name)[\(index)]"
                remaining = []
            case .undecided(let outstanding, let lastGrant):
                if let lastGrant { stage = "acl:\(item.name)[\(lastGrant)]" }
                remaining = outstanding.subtracting(["delete"])
            }
        }

        // Step 8.
        try testFlags(asked, on: item, parent: parent, ignoredFlags: ignoredFlags)

        // Step 9: delete undecided by entries (section 4): w on the parent, then sticky.
        if deleteUndecided, let parent {
            let directory = seen(parent.node)
            let write = subject.modeBits(2, mode: directory.mode, owner: directory.owner, group: directory.group)
            let posix = "posix:\(write.class):\(parent.name)"
            if !write.granted && !overrides { throw Refusal("EACCES", posix) }
            if directory.mode & 0o1000 != 0 && !isOwner && subject.uid != directory.owner {
                throw Refusal("EACCES", "sticky")
            }
            stage = posix
        }
        if remaining.isEmpty { return stage }

        // Step 9: the owner's leftover writeattr.
        if isOwner && remaining.contains("writeattr") {
            remaining.remove("writeattr")
            stage = "owner_right"
            if remaining.isEmpty { return stage }
        }
        // Step 9: no equivalent, refused.
        if remaining.contains("chown") || remaining.contains("writesecurity") {
            throw Refusal("EACCES", "no_bsd_equivalent")
        }
        // Step 9 with 3.9: combined bits of one class.
        var bits: UInt16 = 0
        if !remaining.isDisjoint(with: ["read", "readextattr"]) { bits |= 4 }
        if !remaining.isDisjoint(with: ["write", "append", "delete_child", "writeextattr", "writeattr"]) { bits |= 2 }
        if remaining.contains("execute") { bits |= 1 }
        // Nothing to map: granted.
        if bits == 0 { return "implicit" }
        let tested = subject.modeBits(bits, mode: node.mode, owner: node.owner, group: node.group)
        let posix = "posix:\(tested.class):\(item.name)"
        if !tested.granted { throw Refusal("EACCES", posix) }
        return posix
    }

    /// Step 8: the item's flags; for delete also the parent's, as delete_child. Parent flags are never
    /// ignored (3.8).
    private func testFlags(
        _ asked: Set<String>, on item: Place, parent: Place?, ignoredFlags: Set<String>
    ) throws(Refusal) {
        if flagsRefuse(asked, type: item.node.type, flags: item.node.flags.subtracting(ignoredFlags)) {
            throw Refusal("EPERM", "flags:\(item.name)")
        }
        if asked.contains("delete"), let parent {
            if flagsRefuse(["delete_child"], type: parent.node.type, flags: parent.node.flags) {
                throw Refusal("EPERM", "flags:\(parent.name)")
            }
        }
    }
}
