import BackingStore
import FuseSession
import LinuxSystem

// A change of a record reads, modifies and writes it. The metadata lock excludes other changes by this daemon. On a backing directory that
// several hosts share, a lock on the object excludes those by other hosts (docs/decisions/0023-shared-backings.md).
extension MetadataChanges {
    /// Runs a change of one object under the metadata lock for writing, so that no decision runs meanwhile. What is kept of directories
    /// (`ObjectLoader.loadParent`) outlives a change of anything else.
    /// - Parameters:
    ///   - id: of the object.
    ///   - record: the record may change, so that it is locked against other hosts.
    ///   - body: the change.
    /// - Throws: if the record cannot be locked; and what `body` throws.
    func withMetadataLocked<Value>(_ id: NodeID, record: Bool = true, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        let node = try loader.node(id)
        guard record, loader.tree.hasSharedFileSystem else { return try share.lock.withWriteLock(isCounted: node.isDirectory, body) }
        return try withMetadataLocked(node, body)
    }

    /// Runs a change under the metadata lock for writing, with the record of the object locked against other hosts.
    func withMetadataLocked<Value>(_ node: Node, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        guard loader.tree.sharedFileSystem(of: node.object) != nil else {
            return try share.lock.withWriteLock(isCounted: node.isDirectory, body)
        }
        // Before the metadata lock: another host may keep this one waiting.
        let lock = try waiting { () throws(Errno) in try loader.tree.lockRecord(of: node.object) }
        let result = Result { () throws(Errno) in try share.lock.withWriteLock(isCounted: node.isDirectory, body) }
        loader.tree.release(lock)
        return try result.get()
    }
}

extension XattrName {
    /// Whether setting or removing it changes the record.
    var isOfRecord: Bool {
        switch self {
        case .acl, .posixACL, .xfsACL, .portableACL, .nfs4, .smbACL, .flags, .ownerGUID, .groupGUID, .backup, .exchange: true
        case .effective, .lists, .protected, .user, .security, .trusted, .unsupported, .tooLong: false
        }
    }
}
