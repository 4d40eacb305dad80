// Open files: rights were asked when they were opened, and they keep what they were given (docs/reference/authorization.md 2.2, 2.4).

extension ModelTree {
    /// docs/internals/data-path.md: on what is append-only, and for those who may append and not write, O_APPEND must not be undone.
    func bindsToEnd(_ number: Int, _ flags: OpenFlags) -> Bool {
        guard flags.writes, kind(number) == "file" else { return false }
        if !object(number).node.flags.isDisjoint(with: ["uappnd", "sappnd"]) { return true }
        return flags.appends && !allows(["write"], on: number)
    }

    @discardableResult
    mutating func openFile(_ path: String, _ flags: OpenFlags) throws(Refusal) -> (number: Int, isNew: Bool) {
        let place = try find(path, follows: true)
        guard let number = place.object else {
            if !flags.creates { throw Refusal("ENOENT", "missing") }
            var operation = ModelOperation("create")
            // No umask takes anything of it.
            operation.mode = 0o600
            let made = try create(operation, "file", at: place)
            noteOpening(made, flags)
            return (made, true)
        }
        if flags.creates, kind(number) == "dir" { throw Refusal("EISDIR", "kernel") }
        var operation = ModelOperation("open")
        operation.flags = flags.words
        try ask(operation, ModelNodes(object: object(number).node))
        guard kind(number) == "file" else { return (number, false) }
        noteOpening(number, flags)
        if flags.truncates {
            resize(number, 0)
        } else if flags.writes, caller.uid != 0, object(number).node.mode & 0o6000 != 0 {
            objects[number]?.mayHaveLostSetID = true
        }
        return (number, false)
    }

    private mutating func noteOpening(_ number: Int, _ flags: OpenFlags) {
        objects[number]?.wasOpened = true
        if flags.writes { objects[number]?.writers.insert(caller.uid) }
    }

    mutating func throughHandle(_ words: [String], _ slot: Slot) throws(Refusal) -> String? {
        if words[0] == "hold" {
            if handles[slot] != nil { return nil }
            let flags = OpenFlags(words[3])
            let (number, isNew) = try openFile(words[2], flags)
            handles[slot] = Handle(
                object: number, isReadable: flags.reads, isWritable: flags.writes, appends: flags.appends,
                isAppendOnly: !isNew && bindsToEnd(number, flags))
            return ""
        }
        guard let handle = handles[slot] else { return nil }
        let isFile = kind(handle.object) == "file"
        switch words[0] {
        case "close":
            handles[slot] = nil
            forgetIfGone(handle.object)
        case "pread":
            if !handle.isReadable { throw Refusal("EBADF", "handle") }
            if !isFile { throw Refusal("EISDIR", "kernel") }
            return Self.escaped(Array(object(handle.object).content.dropFirst(Int(words[2]) ?? 0).prefix(4096)))
        case "pwrite":
            if !handle.isWritable { throw Refusal("EBADF", "handle") }
            let size = object(handle.object).content.count
            let offset = handle.appends ? size : Int(words[2]) ?? 0
            if handle.isAppendOnly, offset != size { throw Refusal("EPERM", "handle") }
            store(Array(words[3].utf8), at: offset, in: handle.object)
        case "setfl": handles[slot]?.appends = OpenFlags(words[2]).appends
        case "ftruncate":
            if !handle.isWritable { throw Refusal("EINVAL", "handle") }
            // 2.2: the item must not be append-only, as it is now.
            if handle.isAppendOnly || !object(handle.object).node.flags.isDisjoint(with: ["uappnd", "sappnd"]) {
                throw Refusal("EPERM", "handle")
            }
            resize(handle.object, Int(words[2]) ?? 0)
        case "fallocate": try allocate(handle, Int(words[2]) ?? 0, Int(words[3]) ?? 0, Int(words[4]) ?? 0)
        case "fchmod": try changeMode(handle.object, words[2])
        case "relist":
            if isFile { throw Refusal("ENOTDIR", "kernel") }
            if object(handle.object).links == 0 { throw Refusal("ENOENT", "kernel") }
        default: fatalError("no such call: \(words[0])")
        }
        return ""
    }

    /// 2.4. Modes are 0 and FALLOC_FL_PUNCH_HOLE with KEEP_SIZE.
    private mutating func allocate(_ handle: Handle, _ mode: Int, _ offset: Int, _ length: Int) throws(Refusal) {
        if !handle.isWritable { throw Refusal("EBADF", "handle") }
        let object = object(handle.object)
        if !object.node.flags.isDisjoint(with: ["uchg", "schg"]) { throw Refusal("EPERM", "handle") }
        let isBound = handle.isAppendOnly || !object.node.flags.isDisjoint(with: ["uappnd", "sappnd"])
        if isBound, mode != 0 || offset < object.content.count { throw Refusal("EPERM", "handle") }
        if mode == 0 {
            let missing = max(0, offset + length - object.content.count)
            objects[handle.object]?.content += [UInt8](repeating: 0, count: missing)
        } else if offset < object.content.count {
            let end = min(object.content.count, offset + length)
            objects[handle.object]?.content.replaceSubrange(
                offset..<end, with: [UInt8](repeating: 0, count: end - offset))
        }
        contentChanges(handle.object)
    }

    /// Opens both and copies the first 16 bytes.
    mutating func copied(_ path: String, _ newPath: String) throws(Refusal) -> String? {
        let (from, _) = try openFile(path, OpenFlags("0"))
        let (to, _) = try openFile(newPath, OpenFlags("1"))
        if kind(from) == "dir" { throw Refusal("EISDIR", "kernel") }
        // Whether the parts overlap is another question.
        if from == to { return nil }
        let bytes = Array(object(from).content.prefix(16))
        if !bytes.isEmpty { store(bytes, at: 0, in: to) }
        return ""
    }
}
