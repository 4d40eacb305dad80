import ACLFormats
import Authorization
import LinuxSystem

extension BackingTree {
    /// Everything that a decision may read of an object, from one status and one attribute.
    /// - Throws: `io` if the record cannot be understood: never "no ACL" (AUTHORIZATION.md 10, Q17).
    public func facts(_ descriptor: Int32, _ status: FileStatus) throws(Errno) -> ObjectFacts {
        let record = try record(descriptor)
        return ObjectFacts(
            kind: ObjectKind(typeBits: status.mode), owner: status.uid, group: status.gid,
            mode: FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)), flags: record.flags,
            acl: record.acl, ownerGUID: record.ownerGUID, groupGUID: record.groupGUID)
    }

    /// The stored record; an empty one if there is none.
    public func record(_ descriptor: Int32) throws(Errno) -> MetadataRecord {
        let record: Result<MetadataRecord, Errno> = withUnsafeTemporaryAllocation(
            byteCount: MetadataRecord.maximumSize + 1, alignment: 8
        ) { buffer in
            do throws(Errno) {
                let count = try Syscall.getxattr(.any(descriptor), metadataName, into: buffer)
                do {
                    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    return .success(try MetadataRecord(decoding: RawSpan(_unsafeBytes: bytes)))
                } catch { return .failure(.io) }
            } catch {
                // A file system mounted below that keeps no attributes has no records either; a value
                // larger than any record is not one.
                if error == .nodata || error == .opnotsupp { return .success(MetadataRecord()) }
                return .failure(.io)
            }
        }
        return try record.get()
    }

    /// Replaces the record in one call; an empty record is the absence of the attribute.
    /// - Throws: `nospc` or `dquot` if it does not fit; then nothing has changed.
    public func write(_ record: MetadataRecord, to descriptor: Int32) throws(Errno) {
        if record.isEmpty {
            do { try Syscall.removexattr(.any(descriptor), metadataName) } catch {
                if error != .nodata && error != .opnotsupp { throw error }
            }
            return
        }
        let bytes: [UInt8]
        do { bytes = try record.encoded() } catch { throw .inval }
        try Syscall.setxattr(.any(descriptor), metadataName, bytes)
    }
}
