import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import SandboxPolicy

// "Exclude from backup": three attributes and the flag UF_NODUMP are one state. Each one that is stored with an excluding value
// excludes the object, and a caller that reads another one gets a derived value (docs/decisions/0011-one-mark-is-enough.md).

/// The marks that are stored on one object.
struct BackupMarks {
    var flag: Bool
    var stored: [BackupMark: [UInt8]] = [:]

    /// The stored attributes whose value excludes; another value, such as `true`, has no effect.
    var excluding: [BackupMark] { BackupMark.allCases.filter { stored[$0].map($0.excludes) ?? false } }
    var isExcluded: Bool { flag || !excluding.isEmpty }

    func value(of mark: BackupMark) -> [UInt8]? {
        guard isExcluded else { return stored[mark] }
        // A stored value is returned as it is, so that copies are equal.
        if let value = stored[mark], mark.excludes(value) { return value }
        return mark.value
    }

    /// The marks that `listxattr` lists. Not all that can be read: a copying program removes what its source does not list, so an object
    /// with one stored mark must list that one only.
    var listed: [BackupMark] {
        let all = BackupMark.allCases.filter { stored[$0] != nil }
        return isExcluded && excluding.isEmpty ? Array(Set(all + [.excludeItem])) : all
    }
}

extension ObjectFacts {
    /// The kernel permits `user.*` on these kinds alone.
    fileprivate var takesUserAttributes: Bool { kind == .file || kind == .directory }
}

extension MetadataChanges {
    private func backupMarks(_ object: ObjectState) throws(Errno) -> BackupMarks {
        var marks = BackupMarks(flag: object.facts.flags.contains(.noDump))
        guard object.facts.takesUserAttributes else { return marks }
        for mark in BackupMark.allCases {
            do throws(Errno) {
                marks.stored[mark] = try mark.storedName.withCString { (name) throws(Errno) in
                    try loader.tree.attribute(name, of: object.object, object.descriptor, object.status)
                }
            } catch {
                if error != .nodata, error != .opnotsupp { throw error }
            }
        }
        return marks
    }

    /// The flags that callers read: with UF_NODUMP if any mark excludes the object, or its location in a container does.
    ///
    /// A caller chooses how deep an object lies. So the directories above are read after the right was asked for and without the metadata lock:
    /// what they say gives no caller a right.
    func visibleFlags(of node: Node, _ caller: Caller) throws(Errno) -> FileFlags {
        let (object, marked) = try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(node)
            try judge.permit(.readFlags, Operands(object: object), caller, about: object)
            return (object, try markedFlags(object))
        }
        if marked.contains(.noDump) { return marked }
        return try isExcludedByLocation(object) ? marked.union(.noDump) : marked
    }

    /// Whether the location of an object excludes it from backups, if that matters to a change of its flags: only if the change would set
    /// UF_NODUMP, and would not be refused in any case. Call it before the metadata lock is taken.
    /// - Parameter requested: the new flags; given those that are stored.
    func isExcludedByLocation(_ node: Node, changing requested: (FileFlags) -> FileFlags, _ caller: Caller) throws(Errno) -> Bool {
        let object = try share.lock.withReadLock { () throws(Errno) -> ObjectState? in
            let object = try loader.load(node)
            var visible = object.facts
            visible.flags = try markedFlags(object)
            let flags = requested(visible.flags)
            guard flags.contains(.noDump), !visible.flags.contains(.noDump) else { return nil }
            let may = [flags, flags.subtracting(.noDump)].contains {
                judge.decide(.chflags($0), Operands(object: object).replacingFacts(with: visible), caller).isAllowed
            }
            return may ? object : nil
        }
        guard let object else { return false }
        return try isExcludedByLocation(object)
    }

    private var known: KnownExclusions { share.exclusions }

    /// Whether the container of the mount's profile excludes the object, or the layout that a directory above it declares.
    func isExcludedByLocation(_ object: ObjectState) throws(Errno) -> Bool {
        if object.location.isExcludedFromBackup { return true }
        // A file with several names lies in no directory.
        guard object.status.isDirectory || object.status.nlink == 1 else { return false }
        let generation = known.generation
        // A change by another program is seen as soon as the mount promises it.
        let lifetime = min(kernel.cache.timeouts.attributes, KnownExclusions.longest)
        let isKept = lifetime > 0 && !loader.tree.hasSharedFileSystem
        let path = isKept ? loader.tree.currentPath(of: object.descriptor) : nil
        if let path, let answer = known.find(object.object.key, at: path, generation) { return answer }
        let isExcluded = try loader.tree.values(of: DeclaredLayout.attributeName, above: object.descriptor, object.status).contains {
            above in
            DeclaredLayout(value: above.value)?.leavesOut(above.names) ?? false
        }
        if let path { known.keep(isExcluded, object.object.key, at: path, generation, for: lifetime) }
        return isExcluded
    }

    /// The flags with UF_NODUMP if any mark excludes the object. What the location adds is left out: an object that is copied or moved
    /// elsewhere must not keep it.
    func markedFlags(_ object: ObjectState) throws(Errno) -> FileFlags {
        let flags = object.facts.flags
        if flags.contains(.noDump) { return flags }
        return try backupMarks(object).isExcluded ? flags.union(.noDump) : flags
    }

    func getBackupMark(_ mark: BackupMark, of object: ObjectState, _ caller: Caller) throws(Errno) -> [UInt8] {
        try judge.permit(.getXattr, Operands(object: object), caller, about: object)
        guard let value = try backupMarks(object).value(of: mark) else { throw .nodata }
        return value
    }

    /// The names of backup marks for `listxattr`.
    func listedBackupMarks(_ object: ObjectState) throws(Errno) -> [[UInt8]] {
        let marks = try backupMarks(object)
        // The kernel refuses `user.*` on symlinks and special files: listing it there would break copying.
        let spelling = options.xattrSpelling
        return marks.listed.flatMap { mark in
            spelling.listed(mark.storedName).filter {
                object.facts.takesUserAttributes || !$0.starts(with: "user.".utf8)
            }
        }
    }

    func setBackupMark(
        _ mark: BackupMark, _ value: UnsafeRawBufferPointer, flags: Int32, of object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        try judge.permit(.setXattr(isProtected: false), Operands(object: object), caller, about: object)
        let isInclusion = mark.includes(Array(value))
        guard isInclusion || mark.accepts(Array(value)) else { throw .inval }
        let marks = try backupMarks(object)
        let isThere = marks.value(of: mark) != nil
        if isThere, flags == XattrFlag.create { throw .exist }
        if !isThere, flags == XattrFlag.replace { throw .nodata }
        if isInclusion { return try removeMarks(marks, of: object, caller) }
        if object.facts.takesUserAttributes {
            do throws(Errno) { return try storeXattr(mark.storedName, value, 0, object, caller) } catch {
                // A backing file system without user attributes may still store the record.
                if error != .opnotsupp { throw error }
            }
        }
        if !marks.flag { try setNoDump(true, on: object, caller) }
    }

    /// Removing one mark removes all. It is no error if none excludes: a copying program removes the listed marks one after the other, and
    /// the first removal has removed the rest.
    func removeBackupMark(_ mark: BackupMark, of object: ObjectState, _ caller: Caller) throws(Errno) {
        try judge.permit(.removeXattr(isProtected: false), Operands(object: object), caller, about: object)
        let marks = try backupMarks(object)
        try removeMarks(marks, of: object, caller)
        if marks.stored[mark] != nil, !marks.excluding.contains(mark) { try removeXattr(mark.storedName, object) }
    }

    /// Removes all marks. The object stays excluded until the last one is removed, even after a failure.
    private func removeMarks(_ marks: BackupMarks, of object: ObjectState, _ caller: Caller) throws(Errno) {
        if marks.flag { try setNoDump(false, on: object, caller) }
        for mark in marks.excluding { try removeXattr(mark.storedName, object) }
    }

    /// Removes the attributes after chflags has cleared UF_NODUMP.
    func removeStoredMarks(_ object: ObjectState) throws(Errno) {
        for mark in try backupMarks(object).excluding { try removeXattr(mark.storedName, object) }
    }

    private func setNoDump(_ isSet: Bool, on object: ObjectState, _ caller: Caller) throws(Errno) {
        var record = try loader.tree.record(object.descriptor.rawValue)
        if isSet { record.flags.formUnion(.noDump) } else { record.flags.subtract(.noDump) }
        try changeRecord(of: object, to: record, after: object.facts, caller)
    }
}
