// What each call gives: the words are those of Tests/ActAs.

/// The bits of open(2) that the calls use.
struct OpenFlags {
    var rawValue: Int
    init(_ word: String) { rawValue = Int(word) ?? 0 }
    var writes: Bool { rawValue & 3 != 0 }
    var reads: Bool { rawValue & 3 != 1 }
    var creates: Bool { rawValue & 0o100 != 0 }
    var truncates: Bool { rawValue & 0o1000 != 0 }
    var appends: Bool { rawValue & 0o2000 != 0 }

    var words: Set<String> {
        var words: Set<String> = [["O_RDONLY", "O_WRONLY", "O_RDWR", "O_RDWR"][rawValue & 3]]
        if truncates { words.insert("O_TRUNC") }
        if appends { words.insert("O_APPEND") }
        return words
    }
}

extension ModelTree {
    /// What a call gives: the answer, and behind it those that are as good, each for a reason that stands where it is
    /// added; nothing if the call has no meaning now, as reading from a descriptor that was never opened.
    public func answers(_ words: [String], by caller: ModelCredential, process: Int) -> [ModelAnswer] {
        var tree = self
        tree.caller = caller
        var answer: ModelAnswer
        do throws(Refusal) {
            guard let value = try tree.make(words, process) else { return [] }
            answer = ModelAnswer(word: "ok", value: value, tree: tree)
        } catch {
            answer = ModelAnswer(word: error.errno, value: "", tree: self)
            answer.tree.noteRefusal(words, process, by: caller)
        }
        answer.tree.caller = self.caller
        return [answer] + others(words, caller, process, answer)
    }

    /// The numbers of the descriptors that a process holds.
    public func heldDescriptors(of process: Int) -> [Int] {
        handles.keys.filter { $0.process == process }.map(\.number).sorted()
    }

    /// Whether the way to an object leads over a symlink.
    public func followsLinks(_ path: String, by caller: ModelCredential) -> Bool {
        var tree = self
        tree.caller = caller
        do throws(Refusal) { return try tree.find(path, follows: true).links > 0 } catch { return true }
    }

    private func others(
        _ words: [String], _ caller: ModelCredential, _ process: Int, _ answer: ModelAnswer
    ) -> [ModelAnswer] {
        var tree = self
        tree.caller = caller
        let refused = ModelAnswer(word: "EACCES", value: "", tree: self)
        switch words[0] {
        case "attributes":
            // The bits that may have gone, gone.
            guard let number = try? tree.find(words[1], follows: false).object, object(number).mayHaveLostSetID,
                answer.word == "ok"
            else { return [] }
            tree.clearSetID(number)
            return tree.answers(words, by: caller, process: process)
        case "open", "hold":
            let (path, flags) = words[0] == "open" ? (words[1], OpenFlags(words[2])) : (words[2], OpenFlags(words[3]))
            guard let number = try? tree.find(path, follows: true).object else { return [] }
            var others: [ModelAnswer] = []
            if answer.word == "ok", flags.reads, flags.writes, object(number).wasOpened, tree.bindsToEnd(number, flags) {
                others.append(ModelAnswer(word: "EBUSY", value: "", tree: self))
            }
            if flags.truncates, host.kernelClearsSetID, tree.mayNotStat(number) { others.append(refused) }
            return others
        case "utimes" where words[2] == "now":
            guard answer.word != "ok", let number = try? tree.find(words[1], follows: false).object,
                object(number).givenAwayBy == caller.uid,
                object(number).node.flags.isDisjoint(with: ["uchg", "schg", "uappnd", "sappnd"])
            else { return [] }
            return [ModelAnswer(word: "ok", value: "", tree: self)]
        case "chown" where words[2] == "-1" && words[3] == "-1":
            guard host.kernelClearsSetID, let number = tree.changedObject(words, process), kind(number) == "file" else { return [] }
            var others = tree.mayNotStat(number) ? [refused] : []
            // As if he wrote, or there was nothing left to clear.
            if object(number).writers.contains(caller.uid) || object(number).mayHaveLostSetID {
                tree.clearSetID(number)
                tree.caller = self.caller
                others.append(ModelAnswer(word: "ok", value: "", tree: tree))
            }
            return others
        case "chmod", "fchmod":
            // What takes set-id bits and nothing else away looks like the kernel's own request before somebody writes.
            guard host.kernelClearsSetID, let number = tree.changedObject(words, process), kind(number) == "file",
                object(number).writers.contains(caller.uid), let mode = UInt16(words[2], radix: 8)
            else { return [] }
            let now = object(number).node.mode
            guard mode != now, mode | 0o6000 == now | 0o6000, mode & 0o6000 & ~now == 0 else { return [] }
            tree.objects[number]?.node.mode = mode
            tree.caller = self.caller
            return [ModelAnswer(word: "ok", value: "", tree: tree)]
        case "truncate", "chown", "ftruncate", "pwrite", "write", "fallocate", "copy", "map":
            guard host.kernelClearsSetID, let number = tree.changedObject(words, process), tree.mayNotStat(number)
            else { return [] }
            return [refused]
        case "relist":
            guard host.kernelKeepsListings,
                let directory = handles[Slot(process: process, number: Int(words[1]) ?? 0)]?.object, tree.mayNotStat(directory)
            else { return [] }
            return [refused]
        default: return []
        }
    }

    /// The kernel clears set-id bits before it asks to write or to allocate, and the answer may be no (docs/reference/security.md).
    private mutating func noteRefusal(_ words: [String], _ process: Int, by caller: ModelCredential) {
        guard ["pwrite", "write", "fallocate", "ftruncate", "copy", "map"].contains(words[0]) else { return }
        let before = self.caller
        self.caller = caller
        defer { self.caller = before }
        guard let number = changedObject(words, process), kind(number) == "file", object(number).node.mode & 0o6000 != 0
        else { return }
        // What is copied to may have been opened before the copy was refused.
        guard words[0] == "copy" || object(number).writers.contains(caller.uid) else { return }
        objects[number]?.mayHaveLostSetID = true
    }

    private func mayNotStat(_ number: Int) -> Bool { !allows(["readattr", "readsecurity"], on: number) }

    private func changedObject(_ words: [String], _ process: Int) -> Int? {
        switch words[0] {
        case "truncate", "chmod": return try? find(words[1], follows: true).object
        case "chown": return try? find(words[1], follows: false).object
        case "copy": return try? find(words[2], follows: true).object
        default: return handles[Slot(process: process, number: Int(words[1]) ?? 0)]?.object
        }
    }

    /// The value; nil = not to be made.
    private mutating func make(_ words: [String], _ process: Int) throws(Refusal) -> String? {
        switch words[0] {
        case "attributes", "names", "access", "readlink", "getxattr", "listxattr", "open": return try asked(words)
        case "create", "mkdir", "symlink", "link", "unlink", "rmdir", "rename": return try named(words)
        case "chmod", "chown", "utimes", "truncate", "setxattr", "removexattr": return try changed(words)
        case "copy": return try copied(words[1], words[2])
        default: return try throughHandle(words, Slot(process: process, number: Int(words[1]) ?? 0))
        }
    }

    // MARK: questions

    private mutating func asked(_ words: [String]) throws(Refusal) -> String? {
        let path = words[1]
        switch words[0] {
        case "attributes":
            let number = try findObject(path, follows: false)
            try ask("stat", on: number)
            objects[number]?.mayHaveLostSetID = false
            return attributes(number)
        case "names":
            let number = try findObject(path, follows: true)
            if kind(number) != "dir" { throw Refusal("ENOTDIR", "path") }
            try ask("readdir", on: number)
            // opendir(3) asks for the attributes, and the kernel does not say that it does so for a descriptor.
            try ask("stat", on: number)
            return ([".", ".."] + object(number).entries.keys).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                .joined(separator: " ")
        case "access":
            let number = try findObject(path, follows: true)
            let mask = Int(words[2]) ?? 0
            var operation = ModelOperation("access")
            for (bit, word) in [(4, "R_OK"), (2, "W_OK"), (1, "X_OK")] where mask & bit != 0 {
                operation.accessMode.insert(word)
            }
            // Asked about execution the kernel asks for the attributes first.
            if mask & 1 != 0, kind(number) == "file", mayNotStat(number) { throw Refusal("EACCES", "stat") }
            try ask(operation, ModelNodes(object: object(number).node))
            return ""
        case "readlink":
            let number = try findObject(path, follows: false)
            try ask("readlink", on: number)
            return Self.escaped(Array(object(number).target.utf8))
        case "getxattr": return try attribute(words[2], of: try findObject(path, follows: false))
        case "listxattr":
            let number = try findObject(path, follows: false)
            // A refused listing is empty.
            do throws(Refusal) { try ask("listxattr", on: number) } catch { if error.errno == "EACCES" { return "" } else { throw error } }
            var names = Array(object(number).attributes.keys)
            // The list itself, for copies: explicit entries, listed to those who may read them.
            let isExplicit = object(number).node.acl?.contains { !$0.flags.contains("inherited") } == true
            let mayRead = kind(number) != "symlink" && allows(["readattr", "readsecurity"], on: number)
            if isExplicit, mayRead { names.append("user.com.apple.acl.text") }
            return Self.escaped(names.sorted().flatMap { Array($0.utf8) + [0] })
        default:
            try openFile(path, OpenFlags(words[2]))
            return ""
        }
    }

    /// Mode with its type, owner, group, links, size, device. The size of a directory is the backing file system's affair.
    private func attributes(_ number: Int) -> String {
        let object = object(number)
        let types: [String: UInt16] = ["dir": 0o040000, "symlink": 0o120000, "file": 0o100000]
        var (links, size) = (object.links, object.content.count)
        if object.node.type == "dir" {
            let below = object.entries.values.filter { kind($0) == "dir" }.count
            (links, size) = (host.countsSubdirectories ? 2 + below : 1, 0)
        } else if object.node.type == "symlink" {
            size = object.target.utf8.count
        }
        let mode = String(object.node.mode | (types[object.node.type] ?? 0), radix: 8)
        return "\(mode) \(object.node.owner) \(object.node.group) \(links) \(size) 0"
    }

    /// docs/reference/authorization.md 2.2 "getxattr"; the list is asked as stat is, the flags ask readattr.
    private func attribute(_ name: String, of number: Int) throws(Refusal) -> String {
        let object = object(number)
        switch name {
        case "system.aclfs.acl":
            try ask("getacl", on: number)
            guard let acl = object.node.acl else { throw Refusal("ENODATA", "none") }
            return Self.escaped(Array(text(acl, isDirectory: object.node.type == "dir").utf8))
        case "system.aclfs.flags":
            try ask(["readattr"], on: number)
            return Self.flagsText(object.node.flags)
        default:
            if object.node.type == "symlink" { throw Refusal("ENODATA", "kernel") }
            var operation = ModelOperation("getxattr")
            operation.name = name
            try ask(operation, ModelNodes(object: object.node))
            guard let value = object.attributes[name] else { throw Refusal("ENODATA", "none") }
            return Self.escaped(value)
        }
    }
}
