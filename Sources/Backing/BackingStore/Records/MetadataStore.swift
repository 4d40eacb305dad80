import ACLFormats
import Authorization
import LinuxSystem

extension BackingTree {
    /// Everything that a decision may read of an object, from one status and one attribute.
    /// - Parameters:
    ///   - object: the object.
    ///   - descriptor: any descriptor of it.
    ///   - status: its current status.
    /// - Throws: `io` if the record cannot be parsed: never "no ACL" (docs/reference/authorization.md Q17).
    public func facts(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> ObjectFacts {
        facts(status, try currentFacts(object, descriptor, status))
    }

    /// The same for an object that was just looked up.
    public func facts(_ found: ResolvedObject) throws(Errno) -> ObjectFacts {
        if let stored = found.stored { return facts(found.status, stored) }
        return try facts(found.object, found.descriptor, found.status)
    }

    /// The same without a call; nil if the facts of this status are not cached.
    public func cachedFacts(_ object: BackingObject, _ status: FileStatus) -> ObjectFacts? {
        cache.record(of: object, at: status.ctime).map { facts(status, $0) }
    }

    private func facts(_ status: FileStatus, _ stored: StoredFacts) -> ObjectFacts {
        ObjectFacts(
            kind: ObjectKind(typeBits: status.mode), owner: status.uid, group: status.gid,
            mode: FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)), flags: stored.flags, rare: stored.rare)
    }

    /// Whether each change of the object's content has a new mtime.
    public func stampsEveryChange(_ status: FileStatus, _ descriptor: SharedDescriptor) -> Bool {
        changeTimes.distinguishesEveryChange(status.mtime, on: status.device, descriptor)
    }

    /// Whether each later change of the object has another ctime.
    public func distinguishesEveryChange(_ status: FileStatus, _ descriptor: SharedDescriptor) -> Bool {
        changeTimes.distinguishesEveryChange(status.ctime, on: status.device, descriptor)
    }

    /// As `facts`, read now in any case, and not assumed after a change by the daemon.
    public func factsReadAnew(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> ObjectFacts {
        let place = RecordPlace.object(descriptor.rawValue, object.kind)
        guard case .success(let record) = read(place) else { throw .io }
        let stored = StoredFacts(record, posixACL(place, status))
        keep(stored, of: object, status, descriptor)
        return facts(status, stored)
    }

    /// Whether the cached record was read with this ctime, and each later change has a new ctime.
    public func isCurrent(_ object: BackingObject, _ status: FileStatus) -> Bool {
        cache.wasRead(object, at: status.ctime)
    }

    /// The attributes that the object is known not to have: setting one moves the ctime. Empty if nothing is known.
    public func absentAttributes(_ object: BackingObject, _ status: FileStatus) -> AbsentAttributes {
        cache.absentAttributes(object, at: status.ctime)
    }

    /// Caches, with its record, that the object does not have some attributes.
    /// - Parameter status: read before they were asked for.
    public func note(absent: AbsentAttributes, _ object: BackingObject, _ status: FileStatus) {
        cache.note(absent: absent, object, at: status.ctime)
    }

    /// Caches the record with the new ctime after a change by the daemon that moved only the ctime. It is valid for a short time,
    /// because a program may have changed the record on the backing directory meanwhile.
    public func keepRecord(of object: BackingObject, before: FileStatus, after: FileStatus, _ descriptor: SharedDescriptor) {
        guard changeTimes.identifiesState(after.ctime, on: after.device, descriptor) else { return }
        cache.assume(after.ctime, after: before.ctime, of: object)
    }

    /// Caches the facts of a new object, for a short time, as after any change by the daemon.
    func assume(_ stored: StoredFacts, of found: ResolvedObject) {
        guard stored.isKnown, !keepsFormatBits,
            changeTimes.identifiesState(found.status.ctime, on: found.status.device, found.descriptor)
        else { return }
        cache.assume(stored, at: found.status.ctime, for: found.object)
    }

    private func keep(_ stored: StoredFacts, of object: BackingObject, _ status: FileStatus, _ descriptor: SharedDescriptor) {
        guard stored.isKnown, !keepsFormatBits, changeTimes.identifiesState(status.ctime, on: status.device, descriptor) else { return }
        cache.keep(stored, at: status.ctime, for: object)
    }

    /// The stored facts of a status, if they are cached or can be read by name, which takes a fraction of the time through /proc.
    /// nil = read them through /proc.
    func currentFacts(
        _ found: ResolvedObject, of name: UnsafePointer<CChar>, in directory: SharedDescriptor
    ) -> StoredFacts? {
        if let kept = cache.record(of: found.object, at: found.status.ctime) { return kept }
        // The kernel opens special files after a look-up alone: a record by name is not reliable enough for that.
        guard !found.object.kind.isSpecial, !keepsFormatBits,
            case .success(let record) = read(.named(directory.rawValue, name))
        else { return nil }
        let stored = StoredFacts(record, posixACL(.named(directory.rawValue, name), found.status))
        keep(stored, of: found.object, found.status, found.descriptor)
        return stored
    }

    /// The cached facts if the object has not changed since, else the stored ones.
    private func currentFacts(
        _ object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> StoredFacts {
        if let kept = cache.record(of: object, at: status.ctime) { return kept }
        // The status is read first: after a change in between the ctime is later, and the cache does not return the record (R3).
        let stored: StoredFacts
        let place = RecordPlace.object(descriptor.rawValue, object.kind)
        switch read(place) {
        case .success(let record): stored = StoredFacts(record, posixACL(place, status))
        case .failure(let problem):
            damagedRecords.note(problem, of: object.key, at: status.ctime, descriptor)
            throw .io
        }
        keep(stored, of: object, status, descriptor)
        keepRecordAfterRead(of: object, status, descriptor)
        return stored
    }

    /// The read of an attribute may have moved the ctime; without this each further read would move it too.
    private func keepRecordAfterRead(of object: BackingObject, _ status: FileStatus, _ descriptor: SharedDescriptor) {
        guard ownersAccess.isNeeded(toRead: status), let after = try? Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync),
            after.mode == status.mode
        else { return }
        keepRecord(of: object, before: status, after: after, descriptor)
    }

    /// Another attribute than the record, after the decision that the caller may read it.
    /// - Parameters:
    ///   - name: the attribute.
    ///   - object: the object.
    ///   - descriptor: any descriptor of it.
    ///   - status: its status; the mode counts.
    /// - Throws: `nodata` if there is none.
    public func attribute(
        _ name: UnsafePointer<CChar>, of object: BackingObject, _ descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> [UInt8] {
        guard ownersAccess.isNeeded(toRead: status) else { return try Syscall.getxattr(.any(descriptor.rawValue), name) }
        // The caller may have changed the record since `status`: what is cached from before must not be kept.
        let before = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
        defer { keepRecordAfterRead(of: object, before, descriptor) }
        return try ownersAccess.value(name, of: descriptor.rawValue)
    }

    /// Sets or removes another attribute than the record by `act`, after the decision that the caller may. The room for the record is
    /// measured by values, so that reading counts too.
    public func changingAttribute(of descriptor: Int32, _ act: () throws(Errno) -> Void) throws(Errno) {
        try ownersAccess.with(OwnersAccess.reading | OwnersAccess.writing, on: descriptor, act)
    }

    /// The stored record; an empty one if there is none.
    /// - Throws: `io` if it cannot be read or parsed.
    public func record(_ descriptor: Int32) throws(Errno) -> MetadataRecord {
        do { return try read(.object(descriptor, nil)).get() } catch { throw .io }
    }

    enum RecordPlace {
        /// Any descriptor, with the kind if it is known.
        case object(Int32, ObjectKind?)
        /// A file that is open without O_PATH.
        case open(Int32)
        case named(Int32, UnsafePointer<CChar>)
    }

    /// Uses a buffer on the stack; longer lists are read again with a larger one.
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
                // A file system without attributes has no records. A value larger than any record (ERANGE) is no record.
                if error == .opnotsupp, keepsFormatBits { return formatBits(place) }
                if error == .nodata || error == .opnotsupp { return .success(MetadataRecord()) }
                return .failure(.unreadable(error))
            }
        }
    }

    /// Whether the flags of the objects on a file system are its bits (docs/reference/mounting.md "Sources without extended attributes"). No other
    /// bit of a mode can be stored there, and most modes are refused.
    public func keepsFormatBits(on device: UInt64) -> Bool { keepsFormatBits && device == root.key.device }

    /// The flags of an object on a file system without records.
    private func formatBits(_ place: RecordPlace) -> Result<MetadataRecord, RecordProblem> {
        switch place {
        case .object(let descriptor, _), .open(let descriptor):
            do throws(Errno) {
                let status = try Syscall.statx(descriptor, flags: AtFlag.dontSync)
                guard keepsFormatBits(on: status.device) else { return .success(MetadataRecord()) }
                return .success(MetadataRecord(flags: try FormatBits.flags(of: descriptor, status)))
            } catch { return .failure(.unreadable(error)) }
        // It is read by a descriptor instead.
        case .named: return .failure(.unreadable(.opnotsupp))
        }
    }

    /// Without read permission the daemon may still list the names of attributes: a name that is missing there has no value.
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

    /// Replaces the record in one call; an empty record is stored as no attribute.
    /// - Throws: `nospc` or `dquot` if it does not fit; then nothing is changed.
    public func write(_ record: MetadataRecord, to descriptor: Int32) throws(Errno) {
        if keepsFormatBits {
            let status = try Syscall.statx(descriptor, flags: AtFlag.dontSync)
            if keepsFormatBits(on: status.device) {
                guard record == MetadataRecord(flags: record.flags) else { throw .opnotsupp }
                return try FormatBits.set(record.flags, of: descriptor, status)
            }
        }
        try ownersAccess.with(OwnersAccess.writing, on: descriptor) { () throws(Errno) in
            try store(record, on: .any(descriptor))
        }
    }

    /// Stores the record of a new object.
    /// - Parameters:
    ///   - record: the record.
    ///   - kind: the object's kind.
    ///   - descriptor: for a file the one that created it, else any.
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
