import ACLFormats
import Authorization
import LinuxSystem

extension BackingTree {
    /// Everything that a decision may read of an object, from one status and one attribute.
    /// - Throws: `io` if the record cannot be understood: never "no ACL" (AUTHORIZATION.md 10, Q17).
    public func facts(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> ObjectFacts {
        let record = try currentRecord(object, descriptor, status)
        return ObjectFacts(
            kind: ObjectKind(typeBits: status.mode), owner: status.uid, group: status.gid,
            mode: FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)), flags: record.flags,
            acl: record.acl, ownerGUID: record.ownerGUID, groupGUID: record.groupGUID)
    }

    /// The kept record if the object has not changed since it was read, else the stored one.
    private func currentRecord(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> MetadataRecord {
        if let kept = cache.record(of: object.key, at: status.ctime) { return kept }
        // The status comes first: a change in between has a later ctime, and the record is not found under it (R3).
        let record: MetadataRecord
        switch read(descriptor.rawValue) {
        case .success(let stored): record = stored
        case .failure(let problem):
            damagedRecords.note(problem, of: object.key, at: status.ctime, descriptor)
            throw .io
        }
        if changeTimes.identify(status.ctime, on: status.device, descriptor) {
            cache.keep(record, at: status.ctime, for: object.key)
        }
        return record
    }

    /// The stored record; an empty one if there is none.
    public func record(_ descriptor: Int32) throws(Errno) -> MetadataRecord {
        do { return try read(descriptor).get() } catch { throw .io }
    }

    private func read(_ descriptor: Int32) -> Result<MetadataRecord, RecordProblem> {
        withUnsafeTemporaryAllocation(
            byteCount: MetadataRecord.maximumSize + 1, alignment: 8
        ) { buffer in
            do throws(Errno) {
                let count = try Syscall.getxattr(.any(descriptor), metadataName, into: buffer)
                do throws(MetadataRecordError) {
                    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    return .success(try MetadataRecord(decoding: RawSpan(_unsafeBytes: bytes)))
                } catch { return .failure(.damaged(error)) }
            } catch {
                // A file system mounted below that keeps no attributes has no records either; a value
                // larger than any record (ERANGE) is not one.
                if error == .nodata || error == .opnotsupp { return .success(MetadataRecord()) }
                return .failure(.unreadable(error))
            }
        }
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
