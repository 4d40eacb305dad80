import Authorization
import BackingStore
import FuseSession
import LinuxSystem

extension FileSystem {
    func lookup(
        _ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller
    ) throws(Errno) -> Entry {
        try metadataLock.withReadLock { () throws(Errno) in
            let directory = try load(parent)
            try permit(.lookup, Nodes(object: directory.facts), caller)
            let found = try tree.resolve(name, in: directory.descriptor)
            try gate(found, caller)
            return entry(found.object, found.status)
        }
    }

    /// The kernel opens FIFOs and connects to sockets without asking, so a look-up is answered only to
    /// callers who hold what that would give them, or who own the object (docs/security.md).
    private func gate(_ found: ResolvedObject, _ caller: Caller) throws(Errno) {
        guard options.special == .gate else { return }
        let rights: Rights
        switch found.object.kind {
        case .fifo: rights = [.read, .write]
        case .socket: rights = .write
        case .file, .directory, .symlink, .characterDevice, .blockDevice: return
        }
        let facts = try tree.facts(found.descriptor.rawValue, found.status)
        if decide(.rights(.writeSecurity), Nodes(object: facts), caller).stage == .ownerRight { return }
        if !decide(.rights(rights), Nodes(object: facts), caller).isAllowed {
            counters.count(.deny(.EACCES, .special))
            throw .acces
        }
    }

    func forgetLookups(of id: NodeID, _ count: UInt64) {
        _ = nodes.forget(id, count)
    }

    func status(_ id: NodeID, _ caller: Caller) throws(Errno) -> ObjectAttributes {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try permit(.stat, Nodes(object: object.facts), caller)
            return attributes(object.status)
        }
    }

    func access(_ id: NodeID, mask: Int32, _ caller: Caller) throws(Errno) {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            let mask = AccessMask(rawValue: UInt8(truncatingIfNeeded: mask & 7))
            try permit(.access(mask), Nodes(object: object.facts), caller)
        }
    }

    func readLink(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try permit(.readLink, Nodes(object: object.facts), caller)
            return try Syscall.readlinkat(object.descriptor.rawValue)
        }
    }

    func statistics(_ id: NodeID) throws(Errno) -> FileSystemStatistics {
        let descriptor = try tree.descriptor(of: node(id).object)
        let status = try Syscall.fstatvfs(descriptor.rawValue)
        return FileSystemStatistics(
            blocks: status.blocks, blocksFree: status.bfree, blocksAvailable: status.bavail, files: status.files,
            filesFree: status.ffree, blockSize: UInt32(truncatingIfNeeded: status.bsize),
            fragmentSize: UInt32(truncatingIfNeeded: status.frsize),
            nameLength: UInt32(truncatingIfNeeded: status.namemax))
    }
}
