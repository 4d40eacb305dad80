import BackingStore
import LinuxSystem
import Synchronization

/// Notes about the objects of one tree that are being created (docs/decisions/0022-creation-notes.md). After a crash the next mount
/// of the tree finds and removes half-made objects without a walk. A note costs some stores to memory; the file behind it outlives
/// the process.
public final class CreationNotes: Sendable {
    /// The most notes at a time. Further creations have no note.
    static let capacity = 32
    static let headerSize = 4096
    static let size = headerSize + capacity * CreationNoteFormat.size

    private let file: SharedMemoryFile
    private let directory: SharedDescriptor
    private let name: String
    /// Bits of the slots in use.
    private let taken = Atomic<UInt64>(0)
    /// File handles may not lead back to the tree's directories, so a note also has their names.
    private let needsPaths: Bool
    /// The uids that file systems see: of threads that act for root, and of the others.
    private let makers: (root: UInt32, others: UInt32)

    init(_ file: SharedMemoryFile, named name: String, in directory: SharedDescriptor, needsPaths: Bool) {
        (self.file, self.name, self.directory, self.needsPaths) = (file, name, directory, needsPaths)
        makers = (FileSystemUser.owner, FileSystemUser.restrictedID ?? FileSystemUser.owner)
    }

    /// Removes the file, if no creation is in flight.
    func end() {
        guard taken.load(ordering: .sequentiallyConsistent) == 0 else { return }
        try? FileSystemUser.asRoot { () throws(Errno) in try Syscall.unlinkat(directory.rawValue, name) }
    }

    /// Notes that an object is about to be created.
    /// - Parameters:
    ///   - mode: the type bits and permissions that it is created with.
    ///   - owner: the uid of its future owner.
    ///   - byRoot: the thread acts for root.
    /// - Returns: the slot for `remove`, when the object is finished or gone; nil if there is no room for the note.
    func note(
        _ name: UnsafePointer<CChar>, in parent: ObjectState, of tree: BackingTree, mode: UInt32, owner: UInt32, byRoot: Bool
    ) -> Int? {
        var path: [[UInt8]]?
        // A file handle leads back only on the tree's own file system, and only if the daemon may open it.
        if needsPaths || parent.object.mayHoldDescriptor || parent.status.device != tree.root.key.device {
            path = tree.names(to: parent.descriptor, parent.status)
            if path == nil { return nil }
        }
        guard let slot = take() else { return nil }
        let isNoted = CreationNoteFormat.write(
            memory(slot), time: SystemTime.coarse(), mode: mode, maker: byRoot ? makers.root : makers.others, owner: owner,
            inode: parent.status.inode, handle: parent.object.key.handle, name: name.bytes, path: path)
        if isNoted { return slot }
        release(slot)
        return nil
    }

    func remove(_ slot: Int) {
        CreationNoteFormat.clear(memory(slot))
        release(slot)
    }

    private func take() -> Int? {
        var bits = taken.load(ordering: .relaxed)
        while true {
            let slot = (~bits).trailingZeroBitCount
            guard slot < Self.capacity else { return nil }
            let (isTaken, now) = taken.compareExchange(
                expected: bits, desired: bits | 1 << UInt64(slot), ordering: .sequentiallyConsistent)
            if isTaken { return slot }
            bits = now
        }
    }

    private func release(_ slot: Int) { taken.bitwiseAnd(~(1 << UInt64(slot)), ordering: .sequentiallyConsistent) }

    private func memory(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        let start = Self.headerSize + slot * CreationNoteFormat.size
        return UnsafeMutableRawBufferPointer(rebasing: file.bytes[start..<start + CreationNoteFormat.size])
    }
}
