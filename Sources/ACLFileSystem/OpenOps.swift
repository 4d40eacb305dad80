import Authorization
import BackingStore
import FuseSession
import LinuxSystem

/// The bit of OPEN's flags that says: for execution.
private let openForExecution: Int32 = 0x20

extension OpenIntent {
    /// The intent of open(2)'s flags as the kernel hands them on.
    init(flags: Int32) {
        self = []
        switch flags & OpenFlag.accessMask {
        case OpenFlag.readOnly: insert(.read)
        case OpenFlag.writeOnly: insert(.write)
        default: formUnion([.read, .write])
        }
        if flags & OpenFlag.append != 0 { insert(.append) }
        if flags & OpenFlag.truncate != 0 { insert(.truncate) }
    }
}

extension FileSystem {
    func open(_ id: NodeID, flags: Int32, _ caller: Caller) throws(Errno) -> Opening {
        let node = try node(id)
        guard OpenIntent(flags: flags).contains(.write) || flags & OpenFlag.truncate != 0 else {
            return try open(node, flags: flags, nil, caller)
        }
        return try openingForWriting(node, caller) { (growth) throws(Errno) in
            try open(node, flags: flags, growth, caller)
        }
    }

    private func open(_ node: Node, flags: Int32, _ growth: Growth?, _ caller: Caller) throws(Errno) -> Opening {
        try metadataLock.withReadLock { () throws(Errno) in
            try open(node, load(node), flags: flags, growth, caller)
        }
    }

    private func open(
        _ node: Node, _ object: Loaded, flags: Int32, _ growth: Growth?, _ caller: Caller
    ) throws(Errno) -> Opening {
        let intent = OpenIntent(flags: flags)
        let executes = flags & openForExecution != 0
        try permit(executes ? .execute : .open(intent), Parts(object: object), caller, about: object)
        // The kernel opens the others itself; only files have data here.
        guard object.facts.kind == .file else { throw .io }
        let portion = try share.handleAllowance.take(caller.uid)
        let descriptor = SharedDescriptor(
            try Syscall.reopen(object.descriptor.rawValue, backingFlags(flags)))
        if intent.contains(.truncate) {
            try clearSetID(object, caller)
            try Syscall.truncate(descriptor.rawValue, size: 0)
            share.contentChanged(object.object, through: self)
        }
        let file = OpenFile(
            node: node, descriptor: descriptor, portion, isReadable: intent.contains(.read) || executes,
            isWritable: intent.contains(.write), isAppendOnly: bindsToEnd(intent, object, caller),
            growth: try entering(growth, descriptor, intent, caller))
        var flags = openingFlags(file)
        if file.isWritable, caller.uid != 0, !object.facts.mode.isDisjoint(with: [.setUser, .setGroup]) {
            // Writing clears the bits (AUTHORIZATION.md 6.7), but the kernel does not tell of writing to a mapping.
            // Without the page cache there is none.
            flags.insert(.directIO)
        }
        return Opening(handle: handles.add(file), flags: flags)
    }

    /// Whether a handle may only add at the end: the object is append-only, or it was opened for
    /// appending by somebody who may not write (DESIGN 5: O_APPEND can be cleared after open).
    func bindsToEnd(_ intent: OpenIntent, _ object: Loaded, _ caller: Caller) -> Bool {
        guard intent.contains(.write) else { return false }
        if !object.facts.flags.isDisjoint(with: .appendOnly) { return true }
        guard intent.contains(.append) else { return false }
        return !decide(.rights(.write), Parts(object: object), caller).isAllowed
    }

    /// Append-only handles bypass the page cache, which also refuses shared writable mappings of them.
    private func openingFlags(_ file: OpenFile) -> Opening.Flags {
        var flags: Opening.Flags = []
        if file.isAppendOnly { flags.insert(.directIO) }
        if !file.isWritable { flags.insert(.noFlush) }
        return flags
    }

    /// Only the access mode reaches the backing file: appending, truncation and exclusion are ours, and
    /// nothing that could block or follow does.
    private func backingFlags(_ flags: Int32) -> Int32 {
        flags & OpenFlag.accessMask | OpenFlag.nonBlock | OpenFlag.noControllingTerminal
    }

    func createAndOpen(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening) {
        let (shown, opening) = try share.withNamesHeld { () throws(Errno) -> (Entry, Opening?) in
            let directory = try load(parent)
            // Before anything is made, so that a refusal leaves nothing.
            let portion = try share.handleAllowance.take(caller.uid)
            let made: Loaded
            do throws(Errno) { made = try create(.file, name, in: directory, mode: mode, caller) } catch {
                guard error == .exist, flags & OpenFlag.exclusive == 0 else { throw error }
                // It came into being after the kernel looked: then it is opened like any other.
                try permit(.lookup, Parts(finding: name, in: directory), caller, about: directory)
                let found = try child(name, of: directory)
                return (entry(found, named: name, below: directory), nil)
            }
            return try showing(entry(made, named: name, below: directory)) { (node) throws(Errno) in
                try openCreated(made, node, portion, flags: flags, caller)
            }
        }
        if let opening { return (shown, opening) }
        // Not with names held: opening for writing may have to wait for zeros.
        return try showing(shown) { (node) throws(Errno) in try open(node.id, flags: flags, caller) }
    }

    /// Opens what an entry shows; if that fails the entry is not shown after all.
    private func showing(
        _ entry: Entry, _ open: (Node) throws(Errno) -> Opening
    ) throws(Errno) -> (Entry, Opening) {
        do throws(Errno) { return (entry, try open(node(entry.node))) } catch {
            forgetLookups(of: entry.node, 1)
            throw error
        }
    }

    func openUnnamed(
        in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening) {
        try share.withNamesHeld { () throws(Errno) in
            let portion = try share.handleAllowance.take(caller.uid)
            let directory = try load(parent)
            let descriptor = try createUnnamed(in: directory, mode: mode, caller)
            let made = try load(tree.adopt(descriptor), directory.standing.unnamedBelow)
            return try showing(unnamedEntry(made, in: directory)) { (node) throws(Errno) in
                try openCreated(made, node, portion, flags: flags, caller)
            }
        }
    }

    /// The handle that creating gives. No right on the new object is asked (AUTHORIZATION.md 2.2), so that
    /// O_WRONLY with mode 0444 works.
    private func openCreated(
        _ made: Loaded, _ node: Node, _ portion: HandleAllowance.Portion, flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening {
        let descriptor = SharedDescriptor(try Syscall.reopen(made.descriptor.rawValue, backingFlags(flags)))
        let intent = OpenIntent(flags: flags)
        let file = OpenFile(
            node: node, descriptor: descriptor, portion, isReadable: intent.contains(.read),
            isWritable: intent.contains(.write), isAppendOnly: false,
            growth: intent.contains(.write) ? enteringNew(node, caller) : nil)
        return Opening(handle: handles.add(file), flags: openingFlags(file))
    }
}
