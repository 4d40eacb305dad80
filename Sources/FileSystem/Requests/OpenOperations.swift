import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions

/// FMODE_EXEC, in the flags of OPEN: the file is opened to execute it.
private let openForExecution: Int32 = 0x20

extension OpenIntent {
    /// The intent that the flags of OPEN state.
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

/// The requests OPEN, CREATE and TMPFILE.
final class OpenOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let durable: DurableCalls
    let gaps: GapReservations
    let metadata: MetadataChanges
    let names: NameOperations
    let lookups: LookupOperations
    let files: OpenFiles

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, durable: DurableCalls,
        gaps: GapReservations, metadata: MetadataChanges, names: NameOperations, lookups: LookupOperations, files: OpenFiles
    ) {
        (
            self.loader, self.judge, self.kernel, self.held, self.share, self.durable, self.gaps, self.metadata, self.names,
            self.lookups, self.files
        ) = (loader, judge, kernel, held, share, durable, gaps, metadata, names, lookups, files)
    }
}

extension OpenOperations {
    func open(_ id: NodeID, flags: Int32, _ caller: Caller) throws(Errno) -> Opening {
        let opening = try openWhenFree(id, flags: flags, caller)
        guard flags & OpenFlag.truncate != 0 else { return opening }
        return try finish(opening) { () throws(Errno) in try durable.finishChange(of: id) }
    }

    /// Brings what an open has changed to the disk. If that fails, the handle is given back.
    private func finish(_ opening: Opening, _ body: () throws(Errno) -> Void) throws(Errno) -> Opening {
        do throws(Errno) { try body() } catch {
            gaps.release(opening.handle)
            throw error
        }
        return opening
    }

    private func openWhenFree(_ id: NodeID, flags: Int32, _ caller: Caller) throws(Errno) -> Opening {
        let node = try loader.node(id)
        // RELEASE follows close(2), and changes in flight end in milliseconds: a conflict may pass.
        for pause: UInt32 in [1, 2, 5, 10] {
            do throws(Errno) { return try attemptOpen(node, flags: flags, mayRetry: true, caller) } catch {
                guard error == .busy || error == .claimed else { throw error }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        do throws(Errno) { return try attemptOpen(node, flags: flags, mayRetry: false, caller) } catch {
            if error == .busy { files.noteBusy(node) }
            throw error
        }
    }

    private func attemptOpen(_ node: Node, flags: Int32, mayRetry: Bool, _ caller: Caller) throws(Errno) -> Opening {
        guard OpenIntent(flags: flags).contains(.write) || flags & OpenFlag.truncate != 0 else {
            return try performOpen(node, flags: flags, mayRetry: mayRetry, nil, caller)
        }
        // Opening may have to clear set-id bits on a file that may be held.
        return try held.run(
            (node, flags, mayRetry, caller), caller, on: .object(node.id), discard: { [self] in gaps.release($0.handle) }
        ) { [self] (input) throws(Errno) in
            let (node, flags, mayRetry, caller) = input
            return try gaps.openForWriting(node, caller) { (writableFile) throws(Errno) in
                try performOpen(node, flags: flags, mayRetry: mayRetry, writableFile, caller)
            }
        }
    }

    /// Decides and opens under the metadata lock. Truncation may take long, so it follows on the opened file, without the lock.
    private func performOpen(
        _ node: Node, flags: Int32, mayRetry: Bool, _ writableFile: WritableFile?, _ caller: Caller
    ) throws(Errno) -> Opening {
        let intent = OpenIntent(flags: flags)
        let (object, opened) = try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(node)
            return (object, try grant(node, object, intent, flags: flags, mayRetry: mayRetry, caller))
        }
        var size = object.status.size
        if intent.contains(.truncate) {
            defer { kernel.invalidateContent(of: node.object) }
            try held.makeDataCall(opened, of: opened, caller, against: .any) { (opened) throws(Errno) in try opened.truncate() }
            size = 0
        }
        opened.attach(gaps.enterHandle(writableFile, size: size, intent, caller))
        if opened.dataPath.isMappable, kernel.cache.timeouts.attributes > 0 { kernel.cache.invalidateAttributes(of: node.id) }
        return files.add(opened, for: caller.request)
    }

    /// Judges an open and opens the object.
    private func grant(
        _ node: Node, _ object: ObjectState, _ intent: OpenIntent, flags: Int32, mayRetry: Bool, _ caller: Caller
    ) throws(Errno) -> OpenFile {
        let executes = flags & openForExecution != 0
        try judge.permit(executes ? .execute : .open(intent), Operands(object: object), caller, about: object)
        // The kernel opens special files by itself.
        guard object.facts.kind == .file else { throw .io }
        let quota = try share.handleQuota.charge(caller.uid, to: caller.payer)
        // A write clears set-id bits (docs/reference/authorization.md 6.7), but no request tells of a store into a mapping. Without the page cache there
        // are no mappings; where they cannot be excluded, opening for writing clears the bits.
        let clearsSetID =
            intent.contains(.write) && !object.facts.mode.isDisjoint(with: [.setUser, .setGroup]) && !judge.keepsSetID(caller)
        let file = try files.open(
            object, node, flags: flags, quota, isAppendOnly: isLimitedToEnd(intent, object, caller), clearsSetID: clearsSetID,
            executes: executes, mayRetry: mayRetry, caller)
        let isPassthrough = file.dataPath.path.backingID != nil
        if file.isWritable {
            kernel.endWatch(of: object.object)
        } else if isPassthrough {
            share.watched.noteReader(object.object.key)
        }
        if intent.contains(.truncate) || clearsSetID && isPassthrough {
            try metadata.clearSetIDUnlessKept(of: object, caller, holding: .reading)
        }
        return file
    }

    /// Whether a handle may only add at the end: the object is append-only, or a caller without the right to write opens it for appending.
    /// That caller could clear O_APPEND later (docs/internals/data-path.md).
    func isLimitedToEnd(_ intent: OpenIntent, _ object: ObjectState, _ caller: Caller) -> Bool {
        guard intent.contains(.write) else { return false }
        if !object.facts.flags.isDisjoint(with: .appendOnly) { return true }
        guard intent.contains(.append) else { return false }
        return !judge.decide(.rights(.write), Operands(object: object), caller).isAllowed
    }

    func createAndOpen(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening) {
        let (entry, opening) = try held.passGates(caller) { () throws(Errno) in
            try share.withNamesHeld { () throws(Errno) in
                try createAndOpenLocked(name, in: parent, flags: flags, mode: mode, caller)
            }
        }
        if let opening {
            guard durable.rule.coversNames else { return (entry, opening) }
            return try openEntry(entry) { (node) throws(Errno) in
                try finish(opening) { () throws(Errno) in try durable.finishNames(in: parent, made: node.id) }
            }
        }
        // Without the names held: opening for writing may wait for zeros.
        return try openEntry(entry) { (node) throws(Errno) in try open(node.id, flags: flags, caller) }
    }

    /// Opens a file that another process has made for this request.
    /// - Parameter isCertain: it was made for this request. Otherwise it may be another's.
    func openMade(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, isCertain: Bool, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening) {
        let (entry, opening) = try share.withNamesHeld { () throws(Errno) -> (Entry, Opening?) in
            let quota = try share.handleQuota.charge(caller.uid, to: caller.payer)
            let directory = try loader.load(parent)
            let made = try loader.child(name, of: directory)
            let isNew = made.facts.owner == caller.uid && made.status.size == 0 && made.status.nlink == 1
            guard made.facts.kind == .file, isCertain || isNew else { throw .exist }
            let (entry, opening) = try openEntry(kernel.makeEntry(made, named: name, below: directory)) { (node) throws(Errno) in
                try openCreated(made, node, quota, flags: flags, caller)
            }
            return (entry, opening)
        }
        guard let opening else { throw .io }
        return (entry, opening)
    }

    /// - Returns: the entry, without an opening if the name existed already.
    private func createAndOpenLocked(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> (Entry, Opening?) {
        let directory = try loader.loadParent(parent)
        // Before the object is created, so that a refusal leaves nothing behind.
        let quota = try share.handleQuota.charge(caller.uid, to: caller.payer)
        let made: ObjectState
        do throws(Errno) { made = try names.create(.file, name, in: directory, mode: mode, caller) } catch {
            guard error == .exist, flags & OpenFlag.exclusive == 0 else { throw error }
            // The name was created after the kernel's look-up, so it is opened like any other.
            try judge.permitLookup(name, in: directory, caller)
            let found = try loader.child(name, of: directory)
            return (kernel.makeEntry(found, named: name, below: directory), nil)
        }
        return try openEntry(kernel.makeEntry(made, named: name, below: directory)) { (node) throws(Errno) in
            do throws(Errno) { return try openCreated(made, node, quota, flags: flags, caller) } catch {
                names.undoCreation(of: made, name, in: directory)
                throw error
            }
        }
    }

    /// Opens the object of an entry. If that fails, the look-up of the entry is not counted.
    private func openEntry(_ entry: Entry, _ open: (Node) throws(Errno) -> Opening) throws(Errno) -> (Entry, Opening) {
        do throws(Errno) {
            let node = try loader.node(entry.node)
            let opening = try open(node)
            var entry = entry
            // A handle that can be mapped changes the file unseen, so its attributes are uncacheable.
            if let file = try? files.file(opening.handle), file.dataPath.isMappable { kernel.makeAttributesUncacheable(in: &entry) }
            return (entry, opening)
        } catch {
            lookups.forgetLookups(of: entry.node, 1)
            throw error
        }
    }

    func openUnnamed(in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller) throws(Errno) -> (Entry, Opening) {
        try held.passGates(caller) { () throws(Errno) in
            try share.withNamesHeld { () throws(Errno) in try openUnnamedLocked(in: parent, flags: flags, mode: mode, caller) }
        }
    }

    private func openUnnamedLocked(in parent: NodeID, flags: Int32, mode: UInt32, _ caller: Caller) throws(Errno) -> (Entry, Opening) {
        let quota = try share.handleQuota.charge(caller.uid, to: caller.payer)
        let directory = try loader.load(parent)
        let descriptor = try names.createUnnamed(in: directory, mode: mode, caller)
        // O_PATH: the descriptor that the tree keeps must not count as a writer.
        let place = try Syscall.reopen(descriptor.rawValue, OpenFlag.path)
        var made = try loader.load(loader.tree.adopt(SharedDescriptor(place)), directory.location.unnamedBelow)
        made.opened = descriptor
        return try openEntry(kernel.makeUnnamedEntry(made, in: directory)) { (node) throws(Errno) in
            try openCreated(made, node, quota, flags: flags, caller)
        }
    }

    /// Makes the handle of a created file. No right on the new object is asked (docs/reference/authorization.md 2.2), so O_WRONLY with mode 0444
    /// works.
    private func openCreated(
        _ made: ObjectState, _ node: Node, _ quota: HandleQuota.Charge, flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening {
        let file = try files.open(made, node, flags: flags, quota, isHandedOver: made.facts.owner != caller.uid, caller)
        if file.isWritable { file.attach(gaps.enterNewHandle(node, caller)) }
        return files.add(file, for: caller.request)
    }
}
