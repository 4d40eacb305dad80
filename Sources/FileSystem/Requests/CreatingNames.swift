import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import WireFormats

/// A new object, without its mode.
enum NewObject {
    case file
    case directory
    case symlink(target: UnsafePointer<CChar>)
    case special(ObjectKind, device: UInt64)

    var kind: ObjectKind {
        switch self {
        case .file: .file
        case .directory: .directory
        case .symlink: .symlink
        case .special(let kind, _): kind
        }
    }

    /// Type bits and permissions of the call that creates it, until owner and record are its own: no access for others.
    fileprivate var closedMode: UInt32 {
        switch self {
        case .file, .special: kind.typeBits | 0o600
        case .directory: kind.typeBits | 0o700
        case .symlink: kind.typeBits | 0o777
        }
    }

    /// Type bits and permissions of the call that creates it. If it belongs to no account meanwhile, no record says more, and the owner may do what
    /// the group may, and the group what others may, these are the final ones: nobody has more rights to it than in the end.
    fileprivate func firstMode(_ facts: ObjectFacts, byRoot: Bool) -> UInt32 {
        if case .symlink = self { return closedMode }
        let mode = UInt32(facts.mode.rawValue)
        let (owner, group, others) = (mode >> 6 & 7, mode >> 3 & 7, mode & 7)
        let isSimple = facts.rare == nil && facts.flags.isEmpty && mode & 0o7000 == 0 && group == others && owner & others == others
        return isSimple && !byRoot && FileSystemUser.restrictedID != nil ? kind.typeBits | mode : closedMode
    }
}

extension NameOperations {
    func make(_ new: NewObject, _ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, _ caller: Caller) throws(Errno) -> Entry {
        let entry = try held.passGates(caller) { () throws(Errno) in
            try share.withNamesHeld { () throws(Errno) in try makeLocked(new, name, in: parent, mode: mode, caller) }
        }
        return try finish(entry, in: parent)
    }

    private func makeLocked(
        _ new: NewObject, _ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> Entry {
        let directory = try loader.loadParent(parent)
        let made = try create(new, name, in: directory, mode: mode, caller)
        return kernel.makeEntry(made, named: name, below: directory)
    }

    /// Creates an object in up to four steps after the decision: the object with no more access than in the end, its record, its owner, its mode.
    ///
    /// The kernel holds the directory's lock meanwhile. After a crash at any point nobody has more rights than in the end (invariant I6): the owner is an
    /// unused id, or root if root creates it. A note lets the next mount remove an incomplete object
    /// (docs/decisions/0022-creation-notes.md).
    func create(
        _ new: NewObject, _ name: UnsafePointer<CChar>, in parent: ObjectState, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> ObjectState {
        let facts = try authorizeCreation(new.kind, name, in: parent, mode: mode, caller)
        let made = try allocateBlocks(for: caller) { () throws(Errno) in
            try share.acts.run(caller) { () throws(Errno) in
                try perform(new, facts, name, in: parent, byRoot: caller.uid == 0)
            }
        }
        loader.noteNameChange(in: parent)
        kernel.invalidateNameElsewhere(in: parent, nil)
        return made
    }

    private func perform(
        _ new: NewObject, _ facts: ObjectFacts, _ name: UnsafePointer<CChar>, in parent: ObjectState, byRoot: Bool
    ) throws(Errno) -> ObjectState {
        let first = new.firstMode(facts, byRoot: byRoot)
        // The note stays until the object is complete, or removed again.
        let note = creationNotes?.note(name, in: parent, of: loader.tree, mode: first, owner: facts.owner, byRoot: byRoot)
        var isLeft = false
        defer { if let note, !isLeft { creationNotes?.remove(note) } }
        let directory = parent.descriptor.rawValue
        let opened = try place(new, first, name, in: directory)
        do throws(Errno) {
            let descriptor = if let opened { opened } else { try openCreated(name, in: directory) }
            // Root's file-system user made it, with the daemon's group.
            let isOwned = byRoot && facts.owner == 0 && facts.group == 0 && FileSystemUser.restrictedID != nil
            let hasMode = first & 0o7777 == UInt32(facts.mode.rawValue)
            let stored = try finish(descriptor.rawValue, facts, setsOwner: !isOwned, setsMode: !hasMode, in: parent)
            var found = try adopt(descriptor, new.kind, stored, name, in: directory)
            // The directory may give its group or a bit, and a default ACL takes some.
            let lacksOwner = isOwned && (found.status.uid, found.status.gid) != (0, 0)
            let lacksMode = hasMode && new.kind != .symlink && found.status.mode & 0o7777 != UInt32(facts.mode.rawValue)
            if lacksOwner || lacksMode {
                _ = try finish(descriptor.rawValue, facts, setsOwner: lacksOwner, setsMode: true, in: parent)
                found = try adopt(descriptor, new.kind, stored, name, in: directory)
            }
            var made = ObjectState(
                object: found.object, descriptor: found.descriptor, status: found.status,
                facts: asStored(facts, stored, found.status), location: parent.location.below(name))
            if case .file = new { made.opened = descriptor }
            return made
        } catch {
            // Remove an incomplete object. If that fails, it is closed to others, and its note leads the next mount to it.
            do throws(Errno) {
                try Syscall.unlinkat(directory, name, flags: new.kind == .directory ? AtFlag.removeDirectory : 0)
            } catch { isLeft = error != .noent }
            throw error
        }
    }

    /// Removes a file that was just made, because its creator gets no handle of it. The names are held, so no other caller has it.
    func undoCreation(of made: ObjectState, _ name: UnsafePointer<CChar>, in parent: ObjectState) {
        let directory = parent.descriptor.rawValue
        guard let present = try? Syscall.statxAt(directory, name, flags: AtFlag.symlinkNoFollow),
            (present.device, present.inode) == (made.status.device, made.status.inode),
            (try? Syscall.unlinkat(directory, name, flags: 0)) != nil
        else { return }
        loader.noteNameChange(in: parent)
        kernel.mounts.recordRemoval(of: made, name, from: parent)
        kernel.invalidateNameElsewhere(in: parent, made.object)
    }

    /// - Returns: of a file, what it was made with.
    private func place(
        _ new: NewObject, _ mode: UInt32, _ name: UnsafePointer<CChar>, in directory: Int32
    ) throws(Errno) -> SharedDescriptor? {
        switch new {
        case .file:
            return SharedDescriptor(
                try Syscall.openat(
                    directory, name,
                    OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite | OpenFlag.noFollow, mode: mode & 0o777))
        case .directory: try Syscall.mkdirat(directory, name, mode: mode & 0o777)
        case .symlink(let target): try Syscall.symlinkat(target: target, directory, name)
        case .special(_, let device): try Syscall.mknodat(directory, name, mode: mode, device: device)
        }
        return nil
    }

    /// What facts as stored. They need not be read again: no caller has the name yet.
    private func asStored(_ facts: ObjectFacts, _ stored: StoredFacts, _ status: FileStatus) -> ObjectFacts {
        ObjectFacts(
            kind: facts.kind, owner: status.uid, group: status.gid,
            mode: FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)), flags: stored.flags, rare: stored.rare)
    }

    /// Creates a file without a name, judged and made like one in that directory (docs/reference/authorization.md 2.4).
    func createUnnamed(in parent: ObjectState, mode: UInt32, _ caller: Caller) throws(Errno) -> SharedDescriptor {
        let facts = try authorizeCreation(.file, nil, in: parent, mode: mode, caller)
        return try allocateBlocks(for: caller) { () throws(Errno) in
            let descriptor = SharedDescriptor(
                try Syscall.openat(
                    parent.descriptor.rawValue, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600))
            _ = try finish(descriptor.rawValue, facts, setsOwner: true, setsMode: true, in: parent)
            return descriptor
        }
    }

    /// Judges the creation.
    /// - Returns: the facts of the new object.
    private func authorizeCreation(
        _ kind: ObjectKind, _ name: UnsafePointer<CChar>?, in parent: ObjectState, mode: UInt32, _ caller: Caller
    ) throws(Errno) -> ObjectFacts {
        try loader.requireOpenGate(of: parent.object)
        // A default ACL takes the place of the umask.
        let posix = kind == .symlink ? nil : judge.posix.inherited(parent.facts)
        let request = CreationRequest(
            kind: kind, mode: FileMode(rawValue: UInt16(truncatingIfNeeded: mode & 0o7777)),
            umask: posix == nil ? UInt16(truncatingIfNeeded: caller.umask & 0o777) : 0)
        try judge.permit(
            .create(request), Operands(creating: kind, name, in: parent), caller, about: parent, named: name,
            in: parent.object)
        if parent.isOvermounted { throw .rofs }
        let facts = try judge.newObject(request, in: parent.facts, caller)
        guard let posix else { return facts }
        do { return try judge.posix.inheriting(posix, by: facts) } catch { throw .opnotsupp }
    }

    private func openCreated(_ name: UnsafePointer<CChar>, in directory: Int32) throws(Errno) -> SharedDescriptor {
        SharedDescriptor(try Syscall.openat(directory, name, OpenFlag.path | OpenFlag.noFollow))
    }

    /// Makes the new object known to the tree. The descriptor of a created file is writable; the tree gets an O_PATH one, which does not
    /// count as a writer.
    private func adopt(
        _ descriptor: SharedDescriptor, _ kind: ObjectKind, _ stored: StoredFacts, _ name: UnsafePointer<CChar>,
        in directory: Int32
    ) throws(Errno) -> ResolvedObject {
        try loader.tree.adopt(kind == .file ? openCreated(name, in: directory) : descriptor, stored: stored)
    }

    /// Stores record, owner and mode.
    /// - Parameters:
    ///   - setsOwner: the object was not made by its owner.
    ///   - setsMode: the object was not made with its mode.
    /// - Returns: what is stored with the object now.
    private func finish(
        _ descriptor: Int32, _ facts: ObjectFacts, setsOwner: Bool, setsMode: Bool, in parent: ObjectState
    ) throws(Errno) -> StoredFacts {
        let record = MetadataRecord(flags: facts.flags, groupGUID: facts.groupGUID, acl: facts.acl)
        if !record.isEmpty { try loader.tree.write(record, toNew: facts.kind, descriptor) }
        do throws(Errno) { if setsOwner { try changeOwner(descriptor, uid: facts.owner, gid: facts.group) } } catch {
            // A server may store what it refuses, and then refuse the removal (`storesNotAnID`).
            if loader.tree.hasSharedFileSystem { try? Syscall.fchown(descriptor, uid: FileSystemUser.owner, gid: 0) }
            throw error
        }
        // The kernel's FAT refuses modes that it cannot store, which are most.
        if setsMode, facts.kind != .symlink, !loader.tree.keepsFormatBits(on: parent.status.device) {
            try Syscall.fchmod(descriptor, mode: UInt32(facts.mode.rawValue))
        }
        return loader.tree.stored(record, withNew: facts, descriptor, in: parent.object, parent.descriptor, parent.status)
    }

    /// Sets the owner of a new object. An ordinary user's daemon cannot do that: the object stays that user's. Neither can a file system without
    /// owners, and where ownership is ignored that changes no decision.
    func changeOwner(_ descriptor: Int32, uid: UInt32, gid: UInt32) throws(Errno) {
        do { try Syscall.fchown(new: descriptor, uid: uid, gid: gid) } catch {
            if error != .perm || runsAsRoot && !judge.volume.ignoresOwnership { throw error }
        }
    }
}
