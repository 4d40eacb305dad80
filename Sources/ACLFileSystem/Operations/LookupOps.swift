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
            try judge.permit(
                .lookup, Operands(finding: name, in: directory), caller, about: directory, named: name,
                in: directory.object)
            if directory.isOvermounted { return .absent(validFor: 0) }
            let found = try child(name, of: directory)
            try judge.permitFinding(found, named: name, in: directory.object, caller)
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
            let parts = Operands(object: object)
            if let handle, let file = try? handles.file(handle), file.node.id == id,
                !judge.decide(.stat, parts, caller).isAllowed
            {
                return shownWithoutTime(object)
            }
            try judge.permit(.stat, parts, caller, about: object)
            return shown(object)
        }
    }

    func access(_ id: NodeID, mask: Int32, _ caller: Caller) throws(Errno) {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            let mask = AccessMask(rawValue: UInt8(truncatingIfNeeded: mask & 7))
            try judge.permit(.access(mask), Operands(object: object), caller, about: object)
        }
    }

    func readLink(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try judge.permit(.readLink, Operands(object: object), caller, about: object)
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
                if object.location.rights.isEmpty { try judge.permit(.readFlags, Operands(object: object), caller, about: object) }
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
