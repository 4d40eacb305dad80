import ACLFormats
import BackingStore
import LinuxSystem

/// What the notes of a daemon that died lead to is removed if it is half made. No program was told of such an object: a note goes
/// before the answer. What cannot be told from an object that is finished, used, or made later by another program stays.
struct CreationLeftovers {
    private let tree: BackingTree
    private let isOnServer: Bool

    /// - Parameter isServers: as `TreeIdentity.isServers`.
    init(_ tree: BackingTree, isOnServer: Bool) { (self.tree, self.isOnServer) = (tree, isOnServer) }

    /// - Returns: whether nothing is left to be done by a later mount.
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

    /// - Returns: whether there was such an object, which then is gone.
    /// - Throws: what may be otherwise at the next mount.
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
            // It was never made; or it holds something.
            if error == .noent || error == .notempty || error == .exist { return false }
            throw error
        }
    }

    /// nil if it is gone, or stands elsewhere where only its names are known.
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

    /// Whether an object is as it was when the daemon died between making and finishing it, and nothing else can be so.
    func isHalfMade(_ status: FileStatus, _ note: CreationNote) -> Bool {
        guard status.type == note.mode & FileType.mask, !status.isMountRoot else { return false }
        if status.isRegular, status.size > 0 { return false }
        if !status.isDirectory, status.nlink != 1 { return false }
        // No account has this id: a daemon of root's made the object, and no user could open it since.
        if FileSystemUser.candidates.contains(note.maker), status.uid == note.maker { return true }
        // Another program could have made it after the crash: then it is younger. What was touched since stays, too.
        guard status.uid == note.maker || status.uid == note.owner else { return false }
        // The directory may have given its set-group-id bit.
        if !status.isSymlink, (status.mode ^ note.mode) & 0o5777 != 0 { return false }
        return isOfThatMoment(status.ctime, note) && (!status.hasBirthTime || isOfThatMoment(status.btime, note))
    }

    /// In seconds: as long as a creation may take.
    private static let longest: Int64 = 10
    /// In seconds: how far a server's clock may be off.
    private static let skew: Int64 = 2

    private func isOfThatMoment(_ time: Timespec, _ note: CreationNote) -> Bool {
        let skew = isOnServer ? Self.skew : 0
        // Some file systems keep seconds only.
        let first = Timespec(sec: note.time.sec - skew, nsec: time.nsec == 0 ? 0 : note.time.nsec)
        return first <= time && time <= Timespec(sec: note.time.sec + Self.longest + skew, nsec: note.time.nsec)
    }
}
