import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension FileSystem {
    func lookup(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        let awaited = awaitForget(of: name, in: parent, caller)
        return try passingGates(caller) { () throws(Errno) in
            try metadataLock.withReadLock { () throws(Errno) in try lookupNow(name, in: parent, awaited, caller) }
        }
    }

    private func lookupNow(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ awaited: Node?, _ caller: Caller
    ) throws(Errno) -> LookupAnswer {
        let directory = try load(parent)
        try requireOpenGate(of: directory.object)
        do throws(Errno) {
            try permit(
                .lookup, Parts(finding: name, in: directory), caller, about: directory, named: name,
                in: directory.object)
            if directory.isCovered { return .absent(validFor: 0) }
            let found = try child(name, of: directory)
            try gate(found, named: name, in: directory.object, caller)
            // In vain: as if it had not waited, however many bumps there were meanwhile.
            if let awaited, isKnown(awaited) { awaited.revalidation.mark() }
            return .found(entry(found, named: name, below: directory))
        } catch {
            if error == .noent { return .absent(validFor: absenceTime(of: name, below: directory)) }
            if error == .nameHeld { throw error }
            // The one refusal after which the kernel keeps what is mounted there.
            if mountsBelow.guards(name, in: directory.object) { throw .nomem }
            throw error
        }
    }

    /// The kernel opens FIFOs, connects to sockets and, with `dev`, opens devices without asking, so a look-up is
    /// answered only to callers who hold what that would give them, or who own the object (docs/security.md).
    private func gate(
        _ found: Loaded, named name: UnsafePointer<CChar>, in directory: BackingObject, _ caller: Caller
    ) throws(Errno) {
        guard let rights = rightsBehindGate(found.object.kind) else { return }
        let parts = Parts(object: found)
        if decide(.rights(.writeSecurity), parts, caller).stage == .ownerRight { return }
        var decision = decide(.rights(rights), parts, caller)
        if decision.isAllowed { return }
        var rule: String?
        if case .sandbox(let role) = decision.stage {
            rule = parts.rule(on: role)
        } else {
            decision = .deny(.EACCES, .special)
        }
        counters.count(decision)
        remember(decision, of: .lookup, caller, found, named: name, in: directory, rule: rule)
        throw decision.denial?.errno ?? .acces
    }

    /// What opening an object of this kind would give without a question; nil where nothing is hidden.
    func rightsBehindGate(_ kind: ObjectKind) -> Rights? {
        guard options.special == .gate else { return nil }
        switch kind {
        case .fifo: return [.read, .write]
        case .socket: return .write
        // With `nodev` the kernel opens none.
        case .characterDevice, .blockDevice: return options.noDev ? nil : [.read, .write]
        case .file, .directory, .symlink: return nil
        }
    }

    func forgetLookups(of id: NodeID, _ count: UInt64) {
        // A removed file that is looked at while it is open is in the tree's cache again.
        let object = nodes.forget(id, count)
        if let object, !tree.forgetDescriptorIfRemoved(object) { backingIDs.drop(object.key) }
        if let view, nodes.find(id) == nil { view.forget(id) }
    }

    /// - Parameter handle: the kernel's own question on the way of a read or seek through an open file, which may not fail
    ///   for what the caller may not do any more. fstat(2) comes without one.
    func status(_ id: NodeID, _ handle: HandleID?, _ caller: Caller) throws(Errno) -> ShownAttributes {
        // An entry's attributes that are not good for any time are followed by this question.
        if share.growing.times.areMoved { share.growing.times.awaitRelease(try node(id).object.key) }
        return try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            let parts = Parts(object: object)
            if let handle, let file = try? handles.file(handle), file.node.id == id,
                !decide(.stat, parts, caller).isAllowed
            {
                return shownWithoutTime(object)
            }
            try permit(.stat, parts, caller, about: object)
            return shown(object)
        }
    }

    func access(_ id: NodeID, mask: Int32, _ caller: Caller) throws(Errno) {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            let mask = AccessMask(rawValue: UInt8(truncatingIfNeeded: mask & 7))
            try permit(.access(mask), Parts(object: object), caller, about: object)
        }
    }

    func readLink(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try permit(.readLink, Parts(object: object), caller, about: object)
            // Bound, so that it outlives the call.
            let place = accessTimes.place(of: object.descriptor.rawValue) ?? object.descriptor
            return try Syscall.readlinkat(place.rawValue)
        }
    }

    func statistics(_ id: NodeID, _ caller: Caller) throws(Errno) -> FileSystemStatistics {
        if view != nil {
            // Nobody is refused this elsewhere, but nothing is told about a place that nothing reaches.
            try metadataLock.withReadLock { () throws(Errno) in
                let object = try load(id)
                if object.standing.rights.isEmpty { try permit(.readFlags, Parts(object: object), caller, about: object) }
            }
        }
        let descriptor = try tree.descriptor(of: node(id).object)
        let status = try Syscall.fstatvfs(descriptor.rawValue)
        return FileSystemStatistics(
            blocks: status.blocks, blocksFree: status.bfree, blocksAvailable: status.bavail, files: status.files,
            filesFree: status.ffree, blockSize: UInt32(truncatingIfNeeded: status.bsize),
            fragmentSize: UInt32(truncatingIfNeeded: status.frsize),
            nameLength: UInt32(truncatingIfNeeded: status.namemax))
    }
}
