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
        return try metadataLock.withReadLock { () throws(Errno) in
            try open(node, load(node), flags: flags, caller)
        }
    }

    private func open(_ node: Node, _ object: Loaded, flags: Int32, _ caller: Caller) throws(Errno) -> Opening {
        let intent = OpenIntent(flags: flags)
        let executes = flags & openForExecution != 0
        try permit(executes ? .execute : .open(intent), Nodes(object: object.facts), caller, about: object)
        // The kernel opens the others itself; only files have data here.
        guard object.facts.kind == .file else { throw .io }
        let descriptor = SharedDescriptor(
            try Syscall.reopen(object.descriptor.rawValue, backingFlags(flags)))
        if intent.contains(.truncate) {
            try clearSetID(object, caller)
            try Syscall.truncate(descriptor.rawValue, size: 0)
        }
        let file = OpenFile(
            node: node, descriptor: descriptor, isReadable: intent.contains(.read) || executes,
            isWritable: intent.contains(.write), isAppendOnly: bindsToEnd(intent, object.facts, caller))
        return Opening(handle: handles.add(file), flags: openingFlags(file))
    }

    /// Whether a handle may only add at the end: the object is append-only, or it was opened for
    /// appending by somebody who may not write (DESIGN 5: O_APPEND can be cleared after open).
    func bindsToEnd(_ intent: OpenIntent, _ facts: ObjectFacts, _ caller: Caller) -> Bool {
        guard intent.contains(.write) else { return false }
        if !facts.flags.isDisjoint(with: .appendOnly) { return true }
        guard intent.contains(.append) else { return false }
        return !decide(.rights(.write), Nodes(object: facts), caller).isAllowed
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
        try metadataLock.withReadLock { () throws(Errno) in
            let directory = try load(parent)
            do throws(Errno) {
                let made = try create(.file, name, in: directory, mode: mode, caller)
                return try opened(made, flags: flags)
            } catch {
                guard error == .exist, flags & OpenFlag.exclusive == 0 else { throw error }
            }
            // It came into being after the kernel looked: then it is opened like any other.
            try permit(.lookup, Nodes(object: directory.facts), caller, about: directory)
            let found = try tree.resolve(name, in: directory.descriptor)
            let shown = entry(found.object, found.status)
            do throws(Errno) {
                return (shown, try open(node(shown.node), load(found), flags: flags, caller))
            } catch {
                forgetLookups(of: shown.node, 1)
                throw error
            }
        }
    }

    func openUnnamed(
        in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening) {
        try metadataLock.withReadLock { () throws(Errno) in
            let descriptor = try createUnnamed(in: load(parent), mode: mode, caller)
            return try opened(tree.adopt(descriptor), flags: flags)
        }
    }

    /// The handle that creating gives. No right on the new object is asked (AUTHORIZATION.md 2.2), so that
    /// O_WRONLY with mode 0444 works.
    private func opened(_ made: ResolvedObject, flags: Int32) throws(Errno) -> (Entry, Opening) {
        let descriptor = SharedDescriptor(
            try Syscall.reopen(made.descriptor.rawValue, backingFlags(flags)))
        let intent = OpenIntent(flags: flags)
        let shown = entry(made.object, made.status)
        let file = OpenFile(
            node: try node(shown.node), descriptor: descriptor, isReadable: intent.contains(.read),
            isWritable: intent.contains(.write), isAppendOnly: false)
        return (shown, Opening(handle: handles.add(file), flags: openingFlags(file)))
    }
}
