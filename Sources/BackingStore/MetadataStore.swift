import ACLFormats
import Authorization
import LinuxSystem

extension BackingTree {
    /// Everything that a decision may read of an object, from one status and one attribute.
    /// - Throws: `io` if the record cannot be understood: never "no ACL" (docs/authorization.md Q17).
    public func facts(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> ObjectFacts {
        facts(status, try currentFacts(object, descriptor, status))
    }

    /// The same of an object that was just found.
    public func facts(_ found: ResolvedObject) throws(Errno) -> ObjectFacts {
        if let stored = found.stored { return facts(found.status, stored) }
        return try facts(found.object, found.descriptor, found.status)
    }

    private func facts(_ status: FileStatus, _ stored: StoredFacts) -> ObjectFacts {
        ObjectFacts(
            kind: ObjectKind(typeBits: status.mode), owner: status.uid, group: status.gid,
            mode: FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)), flags: stored.flags, rare: stored.rare)
    }

    /// Whether the object's mtime tells every change of what it holds from the next.
    public func stampsEveryChange(_ status: FileStatus, _ descriptor: SharedDescriptor) -> Bool {
        changeTimes.isAlwaysTold(status.mtime, on: status.device, descriptor)
    }

    /// Whether the record that is known of an object was read under this ctime, and any later change has another one.
    public func isCurrent(_ object: BackingObject, _ status: FileStatus) -> Bool {
        cache.wasRead(object, at: status.ctime)
    }

    /// After a change of our own that left the record as it was, but not the ctime: the record is kept under the new
    /// one, for a moment, because somebody else may have changed it meanwhile on the backing directory.
    public func keepRecord(of object: BackingObject, before: FileStatus, after: FileStatus, _ descriptor: SharedDescriptor) {
        guard changeTimes.identify(after.ctime, on: after.device, descriptor) else { return }
        cache.assume(after.ctime, after: before.ctime, of: object)
    }

    /// What was just stored with a new object is kept for a moment, as after any change of our own.
    func assume(_ stored: StoredFacts, of found: ResolvedObject) {
        guard stored.isKnown, changeTimes.identify(found.status.ctime, on: found.status.device, found.descriptor) else { return }
        cache.assume(stored, at: found.status.ctime, for: found.object)
    }

    private func keep(_ stored: StoredFacts, of object: BackingObject, _ status: FileStatus, _ descriptor: SharedDescriptor) {
        guard stored.isKnown, changeTimes.identify(status.ctime, on: status.device, descriptor) else { return }
        cache.keep(stored, at: status.ctime, for: object)
    }

    /// What is stored and belongs to a status, if it is kept or can be read by the object's name, which costs a fraction
    /// of the way through /proc. Nil says only that it must be read in that way.
    func currentFacts(
        _ found: ResolvedObject, of name: UnsafePointer<CChar>, in directory: SharedDescriptor
    ) -> StoredFacts? {
        if let kept = cache.record(of: found.object, at: found.status.ctime) { return kept }
        // A look-up alone lets the kernel open the others: no name is good enough for that.
        guard !found.object.kind.isSpecial,
            case .success(let record) = read(.named(directory.rawValue, name))
        else { return nil }
        let stored = StoredFacts(record, posixACL(.named(directory.rawValue, name), found.status))
        keep(stored, of: found.object, found.status, found.descriptor)
        return stored
    }

    /// What is kept if the object has not changed since it was read, else what is stored.
    private func currentFacts(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> StoredFacts {
        if let kept = cache.record(of: object, at: status.ctime) { return kept }
        // The status comes first: a change in between has a later ctime, and the record is not found under it (R3).
        let stored: StoredFacts
        let place = RecordPlace.object(descriptor.rawValue, object.kind)
        switch read(place) {
        case .success(let record): stored = StoredFacts(record, posixACL(place, status))
        case .failure(let problem):
            damagedRecords.note(problem, of: object.key, at: status.ctime, descriptor)
            throw .io
        }
        keep(stored, of: object, status, descriptor)
        // Reading may have moved the ctime itself; without this each look at the object would, again and again.
        if ownersAccess.isNeeded(toRead: status),
            let after = try? Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync), after.mode == status.mode
        {
            keepRecord(of: object, before: status, after: after, descriptor)
        }
        return stored
    }

    /// The stored record; an empty one if there is none.
    public func record(_ descriptor: Int32) throws(Errno) -> MetadataRecord {
        do { return try read(.object(descriptor, nil)).get() } catch { throw .io }
    }

    enum RecordPlace {
        /// Of which kind, if that is known.
        case object(Int32, ObjectKind?)
        /// A file that is open, not by O_PATH.
        case open(Int32)
        case named(Int32, UnsafePointer<CChar>)
    }

    /// In a buffer on the stack, as far as that may be large; longer lists are read again.
    private func read(_ place: RecordPlace) -> Result<MetadataRecord, RecordProblem> {
        let answer = read(place, room: 1024)
        if case .failure(.unreadable(.range)) = answer { return read(place, room: MetadataRecord.maximumSize + 1) }
        return answer
    }

    private func read(_ place: RecordPlace, room: Int) -> Result<MetadataRecord, RecordProblem> {
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { buffer in
            do throws(Errno) {
                let count =
                    switch place {
                    case .object(let descriptor, let kind): try value(of: descriptor, kind, into: buffer)
                    case .open(let descriptor): try Syscall.getxattr(.open(descriptor), metadataName, into: buffer)
                    case .named(let directory, let name):
                        try Syscall.getxattrat(directory, name, metadataName, into: buffer)
                    }
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

    /// Who may not read an object may still list the names of its attributes: what is not among them is not there.
    private func value(
        of descriptor: Int32, _ kind: ObjectKind?, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        let target: XattrTarget = kind == .directory ? .directory(descriptor) : .any(descriptor)
        do throws(Errno) { return try Syscall.getxattr(target, metadataName, into: buffer) } catch {
            guard error == .acces else { throw error }
            guard try Syscall.listxattr(.any(descriptor)).contains(Array(metadataName.utf8)) else { throw .nodata }
        }
        return try ownersAccess.with(OwnersAccess.reading, on: descriptor) { () throws(Errno) in
            try Syscall.getxattr(.any(descriptor), metadataName, into: buffer)
        }
    }

    /// Replaces the record in one call; an empty record is the absence of the attribute.
    /// - Throws: `nospc` or `dquot` if it does not fit; then nothing has changed.
    public func write(_ record: MetadataRecord, to descriptor: Int32) throws(Errno) {
        try ownersAccess.with(OwnersAccess.writing, on: descriptor) { () throws(Errno) in
            try store(record, on: .any(descriptor))
        }
    }

    /// The record of an object that was just made.
    /// - Parameter descriptor: of a file, one that it was made with.
    public func write(_ record: MetadataRecord, toNew kind: ObjectKind, _ descriptor: Int32) throws(Errno) {
        switch kind {
        case .file: try store(record, on: .open(descriptor))
        case .directory: try store(record, on: .directory(descriptor))
        default: try store(record, on: .any(descriptor))
        }
    }

    private func store(_ record: MetadataRecord, on target: XattrTarget) throws(Errno) {
        if record.isEmpty {
            do { try Syscall.removexattr(target, metadataName) } catch {
                if error != .nodata && error != .opnotsupp { throw error }
            }
            return
        }
        let bytes: [UInt8]
        do { bytes = try record.encoded() } catch { throw .inval }
        try Syscall.setxattr(target, metadataName, bytes)
    }
}
