import Authorization
import BackingStore
import FuseSession
import LinuxSystem

/// Connects the kernel's requests to the operations, one line each. It decides nothing. `RequestHandler` denies what is not overridden
/// (invariant I1).
public final class RequestDispatch: RequestHandler, @unchecked Sendable {
    private let fs: FileSystem
    private let operations: Operations
    private let acts: ActNotes
    private let whenServing: @Sendable (Negotiated) -> Void

    /// - Parameters:
    ///   - fileSystem: the mount.
    ///   - whenServing: called once, after INIT.
    public init(_ fileSystem: FileSystem, whenServing: @escaping @Sendable (Negotiated) -> Void = { _ in }) {
        (fs, operations, self.whenServing) = (fileSystem, fileSystem.operations, whenServing)
        acts = fileSystem.mounts.share.acts
        super.init(squashing: fileSystem.options.squashedRoot)
    }

    override public func initialized(_ negotiated: Negotiated) {
        fs.begin(negotiated)
        whenServing(negotiated)
    }

    override public func repeated(_ request: UInt64) -> Bool { acts.isHopeless(request) }
    override public func destroyed() { fs.disconnect() }
    override public func willServe(_ caller: Caller) { fs.judge.prepare(for: caller) }
    override public func forget(_ node: NodeID, count: UInt64) { operations.lookups.forgetLookups(of: node, count) }

    /// Answers with the outcome of an operation that uses names. While a spare thread changes them, the operation waits.
    private func answer<Reply: OutcomeReply & ~Copyable>(
        _ reply: consuming Reply, _ caller: Caller, _ operation: () throws(Errno) -> Reply.Value
    ) {
        reply.send { () throws(Errno) in try operations.held.passGates(caller, operation) }
    }

    // If the kernel does not accept a reply, the look-up or the handle in it is released, because the kernel does not know of it.

    /// Makes an object, or finds it if another process has made it for this request.
    /// - Parameter linked: the node that it is another name of.
    private func make(
        _ name: UnsafePointer<CChar>, in parent: NodeID, linking linked: NodeID? = nil, _ caller: Caller, _ body: () throws(Errno) -> Entry
    ) throws(Errno) -> Entry {
        try acts.make(caller, body) { (isCertain) throws(Errno) in
            let entry = try operations.lookups.made(name, in: parent) { found in
                if isCertain { return true }
                guard let linked else { return found.facts.owner == caller.uid }
                return found.node?.id == linked || fs.loader.nodes.find(linked)?.object.key == found.object.key
            }
            return try operations.names.finish(entry, in: parent)
        }
    }

    /// Frees a handle that another process has made for this request.
    private func freeHandle(of caller: Caller) {
        guard caller.isRepeated, let handle = fs.files.takeHandle(madeFor: caller.requestNumber) else { return }
        operations.gaps.release(handle)
    }

    private func answer(_ reply: consuming EntryReply, _ operation: () throws(Errno) -> Entry) {
        switch outcome(operation) {
        case .success(let entry): if !reply.answer(entry) { operations.lookups.forgetLookups(of: entry.node, 1) }
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    private func answer(_ reply: consuming OpenReply, _ operation: () throws(Errno) -> Opening) {
        switch outcome(operation) {
        case .success(let opening): if !reply.answer(opening) { operations.gaps.release(opening.handle) }
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    private func answer(_ reply: consuming CreateReply, _ operation: () throws(Errno) -> (Entry, Opening)) {
        switch outcome(operation) {
        case .success(let (entry, opening)):
            if !reply.answer(entry, opening) {
                operations.gaps.release(opening.handle)
                operations.lookups.forgetLookups(of: entry.node, 1)
            }
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    // MARK: Names

    override public func lookup(_ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EntryReply) {
        switch outcome({ () throws(Errno) in try operations.lookups.lookup(name, in: parent, caller) }) {
        case .success(.found(let entry)): answer(reply) { entry }
        case .success(.absent(let seconds)): reply.absent(validFor: seconds)
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    override public func mknod(
        _ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, rdev: UInt64, caller: Caller,
        reply: consuming EntryReply
    ) {
        defer { acts.answered(caller) }
        let kind = ObjectKind(typeBits: mode)
        let new: NewObject = kind == .file ? .file : .special(kind, device: rdev)
        answer(reply) { () throws(Errno) in
            try make(name, in: parent, caller) { () throws(Errno) in
                try operations.names.make(new, name, in: parent, mode: mode, caller)
            }
        }
    }

    override public func mkdir(_ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, caller: Caller, reply: consuming EntryReply) {
        defer { acts.answered(caller) }
        answer(reply) { () throws(Errno) in
            try make(name, in: parent, caller) { () throws(Errno) in
                try operations.names.make(.directory, name, in: parent, mode: mode, caller)
            }
        }
    }

    override public func symlink(
        _ name: UnsafePointer<CChar>, in parent: NodeID, target: UnsafePointer<CChar>, caller: Caller,
        reply: consuming EntryReply
    ) {
        defer { acts.answered(caller) }
        answer(reply) { () throws(Errno) in
            try make(name, in: parent, caller) { () throws(Errno) in
                try operations.names.make(.symlink(target: target), name, in: parent, mode: 0o777, caller)
            }
        }
    }

    override public func link(
        _ node: NodeID, as name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EntryReply
    ) {
        defer { acts.answered(caller) }
        answer(reply) { () throws(Errno) in
            try make(name, in: parent, linking: node, caller) { () throws(Errno) in
                try operations.names.link(node, as: name, in: parent, caller)
            }
        }
    }

    override public func unlink(_ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EmptyReply) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            try acts.remove(caller) { () throws(Errno) in
                try operations.names.remove(name, in: parent, directory: false, caller)
            } finish: { () throws(Errno) in
                try operations.durable.finishNames(in: parent)
            }
        }
    }

    override public func rmdir(_ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EmptyReply) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            try acts.remove(caller) { () throws(Errno) in
                try operations.names.remove(name, in: parent, directory: true, caller)
            } finish: { () throws(Errno) in
                try operations.durable.finishNames(in: parent)
            }
        }
    }

    override public func rename(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, caller: Caller, reply: consuming EmptyReply
    ) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            // Exchanged a second time, the names would be as before.
            try acts.remove(
                caller,
                isDone: { flags & RenameFlag.exchange != 0 && operations.lookups.inode(name, in: parent) != $0.before }
            ) { () throws(Errno) in
                try operations.names.rename(name, in: parent, to: newName, in: newParent, flags: flags, caller)
            } finish: { () throws(Errno) in
                try operations.durable.finishNames(in: newParent, and: parent)
            }
        }
    }

    // MARK: Attributes

    override public func getattr(_ node: NodeID, handle: HandleID?, caller: Caller, reply: consuming AttributeReply) {
        answer(reply, caller) { () throws(Errno) in try operations.attributes.status(node, handle, caller) }
    }

    override public func statx(_ node: NodeID, handle: HandleID?, mask: UInt32, caller: Caller, reply: consuming AttributeReply) {
        answer(reply, caller) { () throws(Errno) in try operations.attributes.status(node, handle, caller) }
    }

    override public func setattr(_ node: NodeID, _ changes: SetAttributes, caller: Caller, reply: consuming AttributeReply) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            try operations.durable.change(node) { () throws(Errno) in
                try acts.set(caller) { () throws(Errno) in
                    try operations.attributes.setAttributes(node, changes, caller)
                } orFind: { () throws(Errno) in
                    try operations.attributes.status(node, nil, caller)
                }
            }
        }
    }

    override public func readlink(_ node: NodeID, caller: Caller, reply: consuming LinkTargetReply) {
        answer(reply, caller) { () throws(Errno) in try operations.attributes.readLink(node, caller) }
    }

    override public func access(_ node: NodeID, mask: Int32, caller: Caller, reply: consuming EmptyReply) {
        answer(reply, caller) { () throws(Errno) in try operations.attributes.access(node, mask: mask, caller) }
    }

    override public func statfs(_ node: NodeID, caller: Caller, reply: consuming StatfsReply) {
        answer(reply, caller) { () throws(Errno) in try operations.attributes.statistics(node, caller) }
    }

    // MARK: Extended attributes

    override public func setxattr(
        _ node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32, caller: Caller,
        reply: consuming EmptyReply
    ) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            try operations.durable.change(node) { () throws(Errno) in
                try acts.set(caller) { () throws(Errno) in
                    try operations.xattrs.setXattr(node, name, value, flags: flags, caller)
                } orFind: { () throws(Errno) in
                }
            }
        }
    }

    override public func getxattr(_ node: NodeID, name: UnsafePointer<CChar>, size: Int, caller: Caller, reply: consuming XattrReply) {
        answer(reply, caller) { () throws(Errno) in try operations.xattrs.getXattr(node, name, caller) }
    }

    override public func listxattr(_ node: NodeID, size: Int, caller: Caller, reply: consuming XattrReply) {
        answer(reply, caller) { () throws(Errno) in try operations.xattrs.listXattr(node, caller) }
    }

    override public func removexattr(_ node: NodeID, name: UnsafePointer<CChar>, caller: Caller, reply: consuming EmptyReply) {
        defer { acts.answered(caller) }
        reply.send { () throws(Errno) in
            try operations.durable.change(node) { () throws(Errno) in
                try acts.set(caller) { () throws(Errno) in
                    try operations.xattrs.removeXattr(node, name, caller)
                } orFind: { () throws(Errno) in
                }
            }
        }
    }

    // MARK: Files

    override public func open(_ node: NodeID, flags: Int32, killSetID: Bool, caller: Caller, reply: consuming OpenReply) {
        freeHandle(of: caller)
        answer(reply) { () throws(Errno) in try operations.opens.open(node, flags: flags, caller) }
    }

    override public func create(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, mode: UInt32, killSetID: Bool, caller: Caller,
        reply: consuming CreateReply
    ) {
        defer { acts.answered(caller) }
        freeHandle(of: caller)
        answer(reply) { () throws(Errno) in
            try acts.make(caller) { () throws(Errno) in
                try operations.opens.createAndOpen(name, in: parent, flags: flags, mode: mode, caller)
            } orFind: { (isCertain) throws(Errno) in
                try operations.opens.openMade(name, in: parent, flags: flags, isCertain: isCertain, caller)
            }
        }
    }

    override public func tmpfile(in parent: NodeID, flags: Int32, mode: UInt32, caller: Caller, reply: consuming CreateReply) {
        defer { acts.answered(caller) }
        freeHandle(of: caller)
        answer(reply) { () throws(Errno) in try operations.opens.openUnnamed(in: parent, flags: flags, mode: mode, caller) }
    }

    override public func read(
        _ node: NodeID, handle: HandleID, offset: Int64, size: Int, flags: Int32, caller: Caller,
        reply: consuming DataReply
    ) {
        reply.fill(capacity: size) { buffer in
            switch outcome({ () throws(Errno) in try operations.bytes.read(handle, into: buffer, offset: offset, caller) }) {
            case .success(let count): count
            case .failure(let error): -Int(error.rawValue)
            }
        }
    }

    override public func write(
        _ node: NodeID, handle: HandleID, offset: Int64, bytes: UnsafeRawBufferPointer, flags: Int32,
        writeFlags: WriteFlags, caller: Caller, reply: consuming WriteReply
    ) {
        defer { acts.answered(caller) }
        // The kernel knows a squashed caller as root, whose writes leave set-id bits.
        let clearsSetID = writeFlags.contains(.killSetID) || caller.isSquashed && !writeFlags.contains(.fromCache)
        reply.send { () throws(Errno) in
            try operations.bytes.write(
                handle, bytes, offset: offset, flags: flags, clearsSetID: clearsSetID, caller.charged(for: writeFlags))
        }
    }

    override public func flush(_ node: NodeID, handle: HandleID, lockOwner: UInt64, caller: Caller, reply: consuming EmptyReply) {
        // Data is in the backing file already: close(2) waits only for the reservation of gaps.
        let interruption = reply.interruption
        reply.send { () throws(Errno) in
            // On a ring the kernel reports no signal that came before the request was assigned (docs/internals/transport.md).
            try operations.gaps.flush(
                handle, caller,
                isInterrupted: { interruption.hasArrived || PendingSignals.exist(for: Int32(bitPattern: caller.tid)) })
        }
    }

    override public func release(
        _ node: NodeID, handle: HandleID, flags: Int32, lockOwner: UInt64, caller: Caller, reply: consuming EmptyReply
    ) {
        operations.gaps.release(handle)
        reply.answer()
    }

    override public func fsync(_ node: NodeID, handle: HandleID, dataOnly: Bool, caller: Caller, reply: consuming EmptyReply) {
        reply.send { () throws(Errno) in try operations.bytes.sync(handle, dataOnly: dataOnly) }
    }

    override public func fallocate(
        _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64, caller: Caller,
        reply: consuming EmptyReply
    ) {
        reply.send { () throws(Errno) in
            try operations.bytes.allocate(handle, mode: mode, offset: offset, length: length, caller)
        }
    }

    override public func lseek(
        _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32, caller: Caller, reply: consuming OffsetReply
    ) {
        reply.send { () throws(Errno) in try operations.bytes.seek(handle, offset: offset, whence: whence, caller) }
    }

    override public func copyFileRange(
        from source: FilePosition, to destination: FilePosition, length: UInt64, flags: UInt64, caller: Caller,
        reply: consuming WriteReply
    ) {
        reply.send { () throws(Errno) in try operations.bytes.copy(from: source, to: destination, length: length, caller) }
    }

    override public func ioctl(
        _ node: NodeID, handle: HandleID, command: UInt32, flags: UInt32, input: UnsafeRawBufferPointer,
        outputSize: Int, caller: Caller, reply: consuming IoctlReply
    ) {
        reply.send { () throws(Errno) in
            try operations.ioctls.ioctl(handle, command: command, input: input, outputSize: outputSize, caller)
        }
    }

    // MARK: Directories

    override public func opendir(_ node: NodeID, flags: Int32, caller: Caller, reply: consuming OpenReply) {
        freeHandle(of: caller)
        answer(reply) { () throws(Errno) in
            try operations.held.passGates(caller) { () throws(Errno) in try operations.directories.openDirectory(node, caller) }
        }
    }

    override public func readdir(_ node: NodeID, handle: HandleID, offset: UInt64, caller: Caller, reply: consuming DirectoryReply) {
        var reply = reply
        switch outcome({ () throws(Errno) in try operations.directories.list(handle, offset: offset, into: &reply, caller) }) {
        case .success: reply.finish()
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    override public func readdirplus(_ node: NodeID, handle: HandleID, offset: UInt64, caller: Caller, reply: consuming DirectoryReply) {
        var reply = reply
        switch outcome({ () throws(Errno) in try operations.directories.listWithEntries(handle, offset: offset, into: &reply, caller) }) {
        case .success(let exposed): if !reply.finish() { for node in exposed { operations.lookups.forgetLookups(of: node, 1) } }
        case .failure(let error): reply.fail(error.rawValue)
        }
    }

    override public func releasedir(_ node: NodeID, handle: HandleID, flags: Int32, caller: Caller, reply: consuming EmptyReply) {
        fs.files.remove(handle)
        reply.answer()
    }

    override public func fsyncdir(_ node: NodeID, handle: HandleID, dataOnly: Bool, caller: Caller, reply: consuming EmptyReply) {
        reply.send { () throws(Errno) in try operations.bytes.syncDirectory(handle) }
    }

    override public func syncfs(_ node: NodeID, caller: Caller, reply: consuming EmptyReply) {
        reply.send { () throws(Errno) in try operations.bytes.syncAll(node) }
    }
}
