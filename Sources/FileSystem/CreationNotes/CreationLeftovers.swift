import ACLFormats
import BackingStore
import LinuxSystem

/// Removes the half-made objects that a daemon left when it died. No program was told of such an object, because a note is removed
/// before the reply. An object stays if it may be finished, used, or made later by another program.
struct CreationLeftovers {
    private let tree: BackingTree
    private let isOnServer: Bool

    /// - Parameter isOnServer: as `TreeIdentity.isOnServer`.
    init(_ tree: BackingTree, isOnServer: Bool) { (self.tree, self.isOnServer) = (tree, isOnServer) }

    /// - Returns: whether a later mount has nothing left to do.
    func remove(_ notes: [CreationNote], _ report: (String) -> Void) -> Bool {
        var (removed, isDone) = (0, true)
        for note in notes {
            do throws(Errno) {
                if try remove(note) { removed += 1 }
            } catch {
                isDone = false
                report(
                    "cannot look for \(escapedName(note.name)), which a crash may have left half made: \(error); the next mount tries again"
                )
            }
        }
        if removed > 0 { report("a crash had left objects half made; now removed: \(removed)") }
        return isDone
    }

    /// - Returns: whether there was a half-made object, which is now removed.
    /// - Throws: an errno that the next mount may not meet.
    func remove(_ note: CreationNote) throws(Errno) -> Bool {
        guard let directory = try directory(of: note) else { return false }
        do throws(Errno) {
            return try note.name.withCString { (name) throws(Errno) in
                let status = try Syscall.statxAt(directory.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.noAutomount)
                guard isHalfMade(status, note) else { return false }
                try Syscall.unlinkat(directory.rawValue, name, flags: status.isDirectory ? AtFlag.removeDirectory : 0)
                return true
            }
        } catch {
            // The object was never made, or it is a directory that is not empty.
            if error == .noent || error == .notempty || error == .exist { return false }
            throw error
        }
    }

    /// nil if the directory is gone, or has moved and the note has only its names.
    private func directory(of note: CreationNote) throws(Errno) -> SharedDescriptor? {
        do throws(Errno) {
            var here = try tree.descriptor(of: tree.root)
            if let path = note.path {
                for name in path {
                    let next = try name.withCString { (name) throws(Errno) in
                        SharedDescriptor(
                            try Syscall.openat(here.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow))
                    }
                    here = next
                }
            } else if let handle = note.handle {
                here = SharedDescriptor(try Syscall.openByHandle(here.rawValue, handle, OpenFlag.path | OpenFlag.noFollow))
            } else {
                return nil
            }
            let status = try Syscall.statx(here.rawValue)
            return status.isDirectory && status.inode == note.inode ? here : nil
        } catch {
            if error == .noent || error == .notdir || error == .loop || error == .stale { return nil }
            throw error
        }
    }

    /// Whether an object looks as between its creation and its completion, and no other history leads to that.
    func isHalfMade(_ status: FileStatus, _ note: CreationNote) -> Bool {
        guard status.type == note.mode & FileType.mask, !status.isMountRoot else { return false }
        if status.isRegular, status.size > 0 { return false }
        if !status.isDirectory, status.nlink != 1 { return false }
        // No account has this uid. Root's daemon made the object. Who could open it before its owner got it has written nothing.
        if FileSystemUser.candidates.contains(note.maker), status.uid == note.maker { return true }
        // Another program may have made the object after the crash; then its ctime is later. An object that was changed since
        // stays, too.
        guard status.uid == note.maker || status.uid == note.owner else { return false }
        // The set-group-id bit may come from the directory.
        if !status.isSymlink, (status.mode ^ note.mode) & 0o5777 != 0 { return false }
        return isOfThatMoment(status.ctime, note) && (!status.hasBirthTime || isOfThatMoment(status.btime, note))
    }

    /// Seconds that a creation may take.
    private static let longest: Int64 = 10
    /// Seconds by which a server's clock may differ.
    private static let skew: Int64 = 2

    private func isOfThatMoment(_ time: Timespec, _ note: CreationNote) -> Bool {
        let skew = isOnServer ? Self.skew : 0
        // Some file systems store whole seconds.
        var first = note.time.moved(seconds: -skew)
        if time.nsec == 0 { first.nsec = 0 }
        return first <= time && time <= note.time.moved(seconds: Self.longest + skew)
    }
}
