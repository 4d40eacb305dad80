// Calls that change attributes, and sizes by path.

extension ModelTree {
    mutating func changed(_ words: [String]) throws(Refusal) -> String? {
        let path = words[1]
        switch words[0] {
        case "chmod":
            let number = try findObject(path, follows: true)
            try changeMode(number, words[2])
        case "chown":
            let number = try findObject(path, follows: false)
            if words[2] == "-1", words[3] == "-1" { return try changeNothing(number) }
            var operation = ModelOperation("chown")
            operation.uid = UInt32(words[2])
            operation.gid = UInt32(words[3])
            apply(try ask(operation, ModelNodes(object: object(number).node)), to: number)
        case "utimes":
            let number = try findObject(path, follows: false)
            var operation = ModelOperation("utimes")
            operation.times = words[2]
            try ask(operation, ModelNodes(object: object(number).node))
        case "truncate":
            let number = try findObject(path, follows: true)
            try ask("truncate", on: number)
            resize(number, Int(words[2]) ?? 0)
        case "setxattr":
            let number = try findObject(path, follows: false)
            try setAttribute(words[2], words[3], of: number)
        default:
            let number = try findObject(path, follows: false)
            try removeAttribute(words[2], of: number)
        }
        return ""
    }

    /// chown(2) without ids. It changes nothing; but it reaches the file system as what the kernel asks for before somebody
    /// writes: nothing, or, where the kernel clears set-id bits itself, the mode without them (docs/reference/security.md).
    private mutating func changeNothing(_ number: Int) throws(Refusal) -> String {
        let mode = object(number).node.mode
        guard kind(number) == "file", mode & 0o6000 != 0 else { return "" }
        if host.kernelClearsSetID {
            let isGroupBitCleared = mode & 0o2010 == 0o2010
            let cleared = mode & ~(isGroupBitCleared ? 0o6000 : 0o4000)
            if cleared != mode { try changeMode(number, String(cleared, radix: 8)) }
        } else if object(number).writers.contains(caller.uid) {
            objects[number]?.mayHaveLostSetID = true
        }
        return ""
    }

    mutating func changeMode(_ number: Int, _ word: String) throws(Refusal) {
        var operation = ModelOperation("chmod")
        operation.mode = UInt16(word, radix: 8)
        let nodes = ModelNodes(object: object(number).node)
        do throws(Refusal) { apply(try ask(operation, nodes), to: number) } catch let refusal {
            // docs/reference/authorization.md 6.1: the set-gid bit of a directory with the group of the one that it lies in is dropped, if only that is refused.
            guard let mode = operation.mode, mode & 0o2000 != 0, kind(number) == "dir", number != Self.top,
                let parent = object(number).parent, object(parent).node.group == object(number).node.group
            else { throw refusal }
            operation.mode = mode & ~0o2000
            do throws(Refusal) { apply(try ask(operation, nodes), to: number) } catch { throw refusal }
        }
        objects[number]?.mayHaveLostSetID = false
    }

    private mutating func apply(_ effects: ModelEffects?, to number: Int) {
        if let owner = effects?.owner { objects[number]?.node.owner = owner }
        if let group = effects?.group { objects[number]?.node.group = group }
        if let mode = effects?.mode { objects[number]?.node.mode = mode }
        if let flags = effects?.flags { objects[number]?.node.flags = flags }
    }

    private mutating func setAttribute(_ name: String, _ value: String, of number: Int) throws(Refusal) {
        switch name {
        case "system.aclfs.acl": try setACL(Self.entries(value), of: number)
        case "system.aclfs.flags":
            try setFlags(value == "-" ? [] : Set(value.split(separator: ",").map(String.init)), of: number)
        default:
            try askAttribute("setxattr", name, number)
            objects[number]?.attributes[name] = Array(value.utf8)
        }
    }

    private mutating func removeAttribute(_ name: String, of number: Int) throws(Refusal) {
        switch name {
        case "system.aclfs.acl":
            let had = object(number).node.acl != nil
            try setACL(nil, of: number)
            if !had { throw Refusal("ENODATA", "none") }
        case "system.aclfs.flags": try setFlags([], of: number)
        default:
            try askAttribute("removexattr", name, number)
            if object(number).attributes[name] == nil { throw Refusal("ENODATA", "none") }
            objects[number]?.attributes[name] = nil
        }
    }

    private func askAttribute(_ call: String, _ name: String, _ number: Int) throws(Refusal) {
        if kind(number) == "symlink" { throw Refusal("EPERM", "kernel") }
        var operation = ModelOperation(call)
        operation.name = name
        try ask(operation, ModelNodes(object: object(number).node))
    }

    /// docs/reference/authorization.md 2.2: writesecurity, if it differs.
    private mutating func setACL(_ acl: [ModelEntry]?, of number: Int) throws(Refusal) {
        if acl == object(number).node.acl { return }
        try ask("setacl", on: number)
        objects[number]?.node.acl = acl
    }

    private mutating func setFlags(_ flags: Set<String>, of number: Int) throws(Refusal) {
        var operation = ModelOperation("chflags")
        operation.flags = flags
        apply(try ask(operation, ModelNodes(object: object(number).node)), to: number)
    }

    // MARK: contents

    /// 6.5, 6.7: whoever writes or cuts and is not root, takes the set-id bits away; root's writes may or may not
    /// (docs/internals/data-path.md).
    mutating func contentChanges(_ number: Int, byCutting: Bool = false) {
        if caller.uid != 0 {
            clearSetID(number)
        } else if !byCutting, object(number).node.mode & 0o6000 != 0 {
            objects[number]?.mayHaveLostSetID = true
        }
    }

    mutating func clearSetID(_ number: Int) {
        if kind(number) == "file" { objects[number]?.node.mode &= ~0o6000 }
        objects[number]?.mayHaveLostSetID = false
    }

    mutating func resize(_ number: Int, _ size: Int) {
        let content = object(number).content
        objects[number]?.content =
            size <= content.count ? Array(content.prefix(size)) : content + [UInt8](repeating: 0, count: size - content.count)
        contentChanges(number, byCutting: true)
    }

    mutating func store(_ bytes: [UInt8], at offset: Int, in number: Int) {
        var content = object(number).content
        if content.count < offset + bytes.count {
            content += [UInt8](repeating: 0, count: offset + bytes.count - content.count)
        }
        content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        objects[number]?.content = content
        contentChanges(number)
    }
}
