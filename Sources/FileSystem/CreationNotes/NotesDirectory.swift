import BackingStore
import Glibc
import LinuxSystem

// The files of notes: one for each daemon and tree, in a directory that only the daemon's user can write to. A running daemon holds
// a lock on its file.
extension CreationNotes {
    /// Removes half-made objects of earlier daemons of this user from a tree, and makes notes for the new daemon. Call it before
    /// the mount answers.
    /// - Parameters:
    ///   - path: of the directory, which is made if it is missing.
    ///   - tree: the backing tree.
    ///   - isReadOnly: half-made objects stay, for the next mount that can write.
    ///   - report: writes a line for the administrator.
    /// - Returns: nil if there can be no notes, which is reported. The tree is served without them.
    public static func open(in path: String, for tree: BackingTree, isReadOnly: Bool, report: (String) -> Void) -> CreationNotes? {
        do throws(Errno) {
            let directory = try FileSystemUser.asRoot { () throws(Errno) in try notesDirectory(path) }
            guard Syscall.lockFile(directory.rawValue, milliseconds: 5000) else { throw .again }
            defer { Syscall.unlockFile(directory.rawValue) }
            let identity = try TreeIdentity(tree)
            if !isReadOnly {
                for name in try Syscall.names(directory.rawValue) where name.starts(with: prefix.utf8) {
                    let name = String(decoding: name, as: UTF8.self)
                    do throws(Errno) { try clear(name, in: directory, tree, identity, report) } catch {
                        report("\(path)/\(name): \(error)")
                    }
                }
            }
            return try FileSystemUser.asRoot { () throws(Errno) in try make(in: directory, identity) }
        } catch {
            let reason =
                error == .perm
                ? "it belongs to another user, others may write there, or its file system is none of tmpfs, ext4, xfs and overlay"
                : "\(error)"
            report("objects that a crash leaves incomplete will stay, because no notes of creations can be kept in \(path): \(reason)")
            return nil
        }
    }

    private static let prefix = "creations-"

    /// On other file systems a store into a mapped file may find no space, and a signal would end the process.
    private static let types = [FileSystemType.tmpfs, FileSystemType.ext4, FileSystemType.xfs, FileSystemType.overlay]

    /// - Throws: `perm` unless only this user may write there, and its file system can hold notes.
    private static func notesDirectory(_ path: String) throws(Errno) -> SharedDescriptor {
        do throws(Errno) { try Syscall.mkdirat(Syscall.workingDirectory, path, mode: 0o700) } catch { if error != .exist { throw error } }
        let directory = SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.noFollow))
        guard isWritableOnlyByDaemonUser(try Syscall.statx(directory.rawValue)),
            types.contains(try Syscall.fileSystemType(directory.rawValue))
        else { throw .perm }
        return directory
    }

    private static func isWritableOnlyByDaemonUser(_ status: FileStatus) -> Bool {
        status.uid == FileSystemUser.owner && status.mode & 0o022 == 0
    }

    private static func make(in directory: SharedDescriptor, _ identity: TreeIdentity) throws(Errno) -> CreationNotes {
        let name = prefix + String(UInt64.random(in: .min ... .max), radix: 16)
        let file = SharedDescriptor(
            try Syscall.openat(
                directory.rawValue, name, OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite | OpenFlag.noFollow, mode: 0o600))
        do throws(Errno) {
            guard Syscall.lockFile(file.rawValue) else { throw .again }
            let header = identity.header(of: getpid())
            try Syscall.writeAll(file.rawValue, header + [UInt8](repeating: 0, count: size - header.count))
            return CreationNotes(
                try SharedMemoryFile(file, count: size), named: name, in: directory, needsPaths: identity.isOnServer)
        } catch {
            try? Syscall.unlinkat(directory.rawValue, name)
            throw error
        }
    }

    /// Processes a file of notes, and removes it if a later mount has nothing left to do. It skips files of running daemons and of
    /// other trees.
    private static func clear(
        _ name: String, in directory: SharedDescriptor, _ tree: BackingTree, _ identity: TreeIdentity, _ report: (String) -> Void
    ) throws(Errno) {
        let opened = try FileSystemUser.asRoot { () throws(Errno) in
            try Syscall.openat(directory.rawValue, name, OpenFlag.readOnly | OpenFlag.noFollow | OpenFlag.nonBlock)
        }
        let file = SharedDescriptor(opened)
        let status = try Syscall.statx(file.rawValue)
        guard status.isRegular, status.nlink == 1, isWritableOnlyByDaemonUser(status) else { return }
        // Files are made with the directory locked, so an incomplete one is damaged.
        func content() throws(Errno) -> [UInt8] {
            guard status.size == UInt64(size) else { return [] }
            try Syscall.lseek(file.rawValue, offset: 0, whence: Seek.set)
            return try Syscall.readAll(file.rawValue, limit: size)
        }
        let head = try content()
        // A process that was just killed closes its files in any order: its mount is dead, and the lock may still be held.
        let isEnding = TreeIdentity.isHeader(head) && ProcessState.isEnding(TreeIdentity.process(head))
        guard Syscall.lockFile(file.rawValue, milliseconds: isEnding ? 3000 : 0) else { return }
        let bytes = try content()
        let notes = TreeIdentity.isHeader(bytes) ? notes(bytes) : []
        if !notes.isEmpty {
            guard identity.matches(bytes) else { return }
            guard CreationLeftovers(tree, isOnServer: identity.isOnServer).remove(notes, report) else { return }
        }
        try FileSystemUser.asRoot { () throws(Errno) in try Syscall.unlinkat(directory.rawValue, name) }
    }

    private static func notes(_ file: [UInt8]) -> [CreationNote] {
        file.withUnsafeBytes { file in
            (0..<capacity).compactMap { slot in
                let start = headerSize + slot * CreationNoteFormat.size
                let memory = UnsafeRawBufferPointer(rebasing: file[start..<start + CreationNoteFormat.size])
                guard case .note(let note) = CreationNoteFormat.read(memory) else { return nil }
                return note
            }
        }
    }
}
