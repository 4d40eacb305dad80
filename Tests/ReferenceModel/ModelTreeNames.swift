// Calls that make, move and remove names.

extension ModelTree {
    mutating func named(_ words: [String]) throws(Refusal) -> String? {
        switch words[0] {
        case "create", "mkdir":
            let place = try find(words[1], follows: false)
            var operation = ModelOperation(words[0])
            operation.mode = UInt16(words[2], radix: 8)
            operation.umask = UInt16(words[3], radix: 8) ?? 0
            let made = try create(operation, words[0] == "mkdir" ? "dir" : "file", at: place)
            if words[0] == "create" { objects[made]?.wasOpened = true }
        case "symlink":
            let made = try create(ModelOperation("symlink"), "symlink", at: try find(words[2], follows: false))
            objects[made]?.target = words[1]
        case "link": return try link(words[1], words[2])
        case "unlink", "rmdir": try remove(words[1], words[0])
        default: return try rename(words[1], words[2], Int(words[3]) ?? 0)
        }
        return ""
    }

    mutating func create(_ operation: ModelOperation, _ type: String, at place: Place) throws(Refusal) -> Int {
        let directory = object(place.directory).node
        let effects = try ask(operation, ModelNodes(parent: directory, object: place.object.map { object($0).node }))
        var node = ModelNode(
            type: type, owner: effects?.owner ?? 0, group: effects?.group ?? 0, mode: effects?.mode ?? 0)
        if case .present(let entries)? = effects?.acl { node.acl = entries }
        let number = add(node, as: place.name, in: place.directory)
        if type == "file", node.owner != caller.uid { objects[number]?.givenAwayBy = caller.uid }
        return number
    }

    private mutating func link(_ path: String, _ newPath: String) throws(Refusal) -> String? {
        let number = try findObject(path, follows: false)
        let place = try find(newPath, follows: false)
        // The kernel looks for the new name before it asks.
        if place.object != nil { throw Refusal("EEXIST", "kernel") }
        let node = object(number).node
        if host.protectsHardLinks, caller.uid != 0, caller.uid != node.owner {
            if object(number).mayHaveLostSetID { return nil }
            let isSetID = node.mode & 0o4000 != 0 || node.mode & 0o2010 == 0o2010
            if node.type != "file" || isSetID { throw Refusal("EPERM", "kernel") }
            // docs/reference/authorization.md Q23
            if !allows(["read", "write"], on: number) { throw Refusal("EPERM", "precondition:protected_link") }
        }
        try ask(ModelOperation("link"), ModelNodes(object: node, targetParent: object(place.directory).node))
        objects[number]?.links += 1
        objects[place.directory]?.entries[place.name] = number
        return ""
    }

    private mutating func remove(_ path: String, _ call: String) throws(Refusal) {
        let place = try find(path, follows: false)
        guard let number = place.object else { throw Refusal("ENOENT", "missing") }
        let isDirectory = kind(number) == "dir"
        // The kernel knows the kind, and has another errno than macOS (docs/reference/vectors-on-linux.md).
        if call == "unlink", isDirectory { throw Refusal("EISDIR", "kernel") }
        try ask(ModelOperation(call), ModelNodes(parent: object(place.directory).node, object: object(number).node))
        // 2.2: after the decision.
        if !object(number).entries.isEmpty { throw Refusal("ENOTEMPTY", "kernel") }
        removeName(place.name, in: place.directory)
    }

    /// nil where what the kernel does is not ours to say.
    private mutating func rename(_ path: String, _ newPath: String, _ flags: Int) throws(Refusal) -> String? {
        let source = try findDirectory(of: path)
        let destination = try findDirectory(of: newPath)
        let old = try lookUp(source)
        guard let number = old else { throw Refusal("ENOENT", "missing") }
        let target = try lookUp(destination)
        let exchanges = flags == 2
        if flags == 1, target != nil { throw Refusal("EEXIST", "kernel") }
        if exchanges, target == nil { throw Refusal("ENOENT", "kernel") }
        // A directory that would come to lie in itself.
        if kind(number) == "dir", holds(number, destination.directory) { throw Refusal("EINVAL", "kernel") }
        if let target, kind(target) == "dir", holds(target, source.directory) {
            throw Refusal(exchanges ? "EINVAL" : "ENOTEMPTY", "kernel")
        }
        // Two names of one object: the kernel asks nobody and does nothing.
        if number == target { return "" }
        if exchanges {
            try askExchange(number, source.directory, target ?? 0, destination.directory)
        } else {
            try ask(
                ModelOperation("rename"),
                ModelNodes(
                    parent: object(source.directory).node, object: object(number).node,
                    targetParent: object(destination.directory).node, target: target.map { object($0).node }))
            if let target, !object(target).entries.isEmpty { throw Refusal("ENOTEMPTY", "kernel") }
            if target != nil { removeName(destination.name, in: destination.directory) }
        }
        objects[source.directory]?.entries[source.name] = exchanges ? target : nil
        objects[destination.directory]?.entries[destination.name] = number
        if kind(number) == "dir" { objects[number]?.parent = destination.directory }
        if exchanges, let target, kind(target) == "dir" { objects[target]?.parent = source.directory }
        return ""
    }

    /// Where a name stands, before the name itself is looked for: both ways are walked first.
    private func findDirectory(of path: String) throws(Refusal) -> Place {
        var words = path.split(separator: "/").map(String.init)
        let name = words.removeLast()
        let directory = words.isEmpty ? Self.top : try findObject(words.joined(separator: "/"), follows: true)
        if kind(directory) != "dir" { throw Refusal("ENOTDIR", "path") }
        return Place(directory: directory, name: name, object: nil)
    }

    private func lookUp(_ place: Place) throws(Refusal) -> Int? {
        try ask("lookup", on: place.directory)
        return object(place.directory).entries[place.name]
    }

    /// 2.2, the row of exchange: each is deleted with its own parent; each parent gets what arrives; a directory that
    /// changes its parent also rewrites its "..".
    private func askExchange(_ first: Int, _ parent: Int, _ second: Int, _ otherParent: Int) throws(Refusal) {
        func leaving(_ number: Int) -> Set<String> {
            kind(number) == "dir" && parent != otherParent ? ["delete", "append"] : ["delete"]
        }
        func arriving(_ number: Int) -> Set<String> { [kind(number) == "dir" ? "append" : "write"] }
        try ask(leaving(first), on: first, in: parent)
        try ask(leaving(second), on: second, in: otherParent)
        try ask(arriving(first), on: otherParent)
        try ask(arriving(second), on: parent)
    }
}
