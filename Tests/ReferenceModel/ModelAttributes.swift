// docs/reference/authorization.md 6: attribute changes. Sandbox, legality, then the right (3.4 steps 2, 3, 4 and on).

extension Decision {
    /// 2.3: EACCES is seen as EPERM through most attribute calls.
    private func asPermissionError(
        _ body: () throws(Refusal) -> String
    ) throws(Refusal) -> String {
        do throws(Refusal) {
            return try body()
        } catch {
            throw error.errno == "EACCES" ? Refusal("EPERM", error.stage) : error
        }
    }

    /// Root and the owner also ask for check-immutable (2.2); flags judge it like writesecurity.
    private func change(
        _ rights: Set<String>, on object: Place, ignoredFlags: Set<String> = [], ownerChange: Bool = false
    ) throws(Refusal) -> String {
        try request.authorize(rights, on: object, ignoredFlags: ignoredFlags, attributeChange: true, ownerChange: ownerChange)
    }

    /// Q1: ownership rules, and so the legality tests that compare the caller with owner and group, are
    /// skipped for those who are not root when ownership is ignored.
    private var skipsOwnershipRules: Bool { world.volume.ignoreOwnership && !subject.isRoot }

    private func has(_ capability: String) -> Bool { subject.capabilities.contains(capability) }

    /// 6.1
    func chmod() throws(Refusal) -> Success {
        let object = try object()
        let mode = (operation.mode ?? 0) & 0o7777
        try sandbox()
        let node = request.seen(object.node)
        if !world.volume.ignoreOwnership {
            if mode & 0o2000 != 0 && !has("fsetid") && subject.membership(node.group) != .member {
                throw Refusal("EPERM", "attr_policy")
            }
            if mode & 0o4000 != 0 && !has("fowner") && subject.uid != node.owner { throw Refusal("EPERM", "attr_policy") }
        }
        let stage = try asPermissionError { () throws(Refusal) in
            try change(["writesecurity", "check_immutable"], on: object)
        }
        // Q1
        return (stage, ModelEffects(mode: world.volume.ignoreOwnership ? mode & ~0o6000 : mode))
    }

    /// 6.2: the vectors' call always changes the list.
    func setACL() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        let stage = try asPermissionError { () throws(Refusal) in
            try change(["writesecurity", "check_immutable"], on: object)
        }
        return (stage, nil)
    }

    /// 6.3
    func chown() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        let node = request.seen(object.node)
        let namesSomething = operation.uid != nil || operation.gid != nil
        let newOwner = operation.uid ?? node.owner
        let newGroup = operation.gid ?? node.group
        let ownerChanges = newOwner != node.owner
        let groupChanges = newGroup != node.group

        // Legality.
        if !has("chown") && !subject.isRoot && !skipsOwnershipRules {
            if ownerChanges && newOwner != subject.uid { throw Refusal("EPERM", "attr_policy") }
            if groupChanges && subject.membership(newGroup) != .member { throw Refusal("EPERM", "attr_policy") }
            // Q6
            if namesSomething && !ownerChanges && !groupChanges && subject.uid != node.owner
                && world.refusesIdleChownByStranger
            {
                throw Refusal("EPERM", "attr_policy")
            }
        }
        // The right.
        var rights: Set<String> = []
        if ownerChanges {
            rights = ["chown", "check_immutable"]
        } else if groupChanges {
            rights = ["writesecurity", "check_immutable"]
        } else if (subject.isRoot || has("chown") && subject.uid != node.owner && !skipsOwnershipRules) && namesSomething {
            rights = ["check_immutable"]
        }
        var stage = "implicit"
        if rights.isEmpty {
            // 9a.1: even a change of nothing.
            if world.volume.readOnly && namesSomething { throw Refusal("EROFS", "precondition:read_only") }
        } else {
            stage = try asPermissionError { () throws(Refusal) in try change(rights, on: object, ownerChange: true) }
        }
        // Set-id clearing: any call that names an id.
        let mode = namesSomething ? object.node.mode & ~0o6000 : object.node.mode
        // Q1: accepted and discarded, whoever asks.
        if world.volume.ignoreOwnership {
            return (stage, ModelEffects(owner: object.node.owner, group: object.node.group, mode: mode))
        }
        return (
            stage,
            ModelEffects(
                owner: operation.uid ?? object.node.owner, group: operation.gid ?? object.node.group, mode: mode)
        )
    }

    /// 6.4
    func utimes() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        let node = request.seen(object.node)
        let isOwner = subject.uid == node.owner
        let chosen = operation.times == "explicit"
        if chosen && !has("fowner") && !isOwner && !world.volume.ignoreOwnership { throw Refusal("EPERM", "attr_policy") }
        let rights: Set<String> =
            subject.isRoot || isOwner ? ["writeattr", "check_immutable"] : ["writeattr"]
        if chosen {
            let stage = try asPermissionError { () throws(Refusal) in try change(rights, on: object) }
            return (stage, nil)
        }
        return (try change(rights, on: object), nil)
    }

    /// 6.6
    func chflags() throws(Refusal) -> Success {
        let object = try object()
        try sandbox()
        let old = object.node.flags
        let new = operation.flags
        // 1.
        let changed = old.symmetricDifference(new).subtracting(["dataless"])
        if changed.isEmpty {
            // 9a.1
            if world.volume.readOnly { throw Refusal("EROFS", "precondition:read_only") }
            return ("implicit", ModelEffects(flags: new))
        }
        // 2.
        let systemFlags: Set<String> = ["arch", "schg", "sappnd", "restricted", "sunlnk", "firmlink"]
        if !has("linux_immutable") && !changed.isDisjoint(with: systemFlags) { throw Refusal("EPERM", "attr_policy") }
        // 4.
        let ignored: Set<String> =
            world.securelevel <= 0 ? ["uchg", "uappnd", "schg", "sappnd"] : ["uchg", "uappnd"]
        // 5.: EACCES is not translated.
        return (try change(["writesecurity"], on: object, ignoredFlags: ignored), ModelEffects(flags: new))
    }
}
