import BackingStore
import FuseSession
import LinuxSystem

// Who changes a record reads it, changes it and writes it back. The metadata lock holds it still against this daemon; on a backing
// directory that several hosts share, a lock on the object does so against the others (docs/decisions/0023-shared-backings.md).
extension MetadataChanges {
    /// Holds what decisions read still, and the record of this object, too, if `record` says that it may change.
    func withMetadataLocked<Value>(
        _ id: NodeID, record: Bool = true, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        guard record, loader.tree.hasSharedFileSystem else { return try share.lock.withWriteLock(body) }
        return try withMetadataLocked(loader.node(id), body)
    }

    /// Runs a change under the metadata lock for writing, with the record of the object locked against other hosts.
    func withMetadataLocked<Value>(_ node: Node, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        guard loader.tree.sharedFileSystem(of: node.object) != nil else { return try share.lock.withWriteLock(body) }
        // Before the metadata lock: another host may take its time. What is read under both is as it is now.
        let lock = try waiting { () throws(Errno) in try loader.tree.lockRecord(of: node.object) }
        let result = Result { () throws(Errno) in try share.lock.withWriteLock(body) }
        loader.tree.release(lock)
        return try result.get()
    }
}

extension XattrName {
    /// Whether setting or removing it changes the record.
    var isOfRecord: Bool {
        switch self {
        case .acl, .flags, .ownerGUID, .groupGUID, .backup: true
        case .effective, .protected, .user, .security, .trusted, .unsupported, .tooLong: false
        }
    }
}
