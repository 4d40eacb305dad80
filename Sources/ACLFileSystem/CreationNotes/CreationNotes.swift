import BackingStore
import LinuxSystem
import Synchronization

/// Notes about the objects of one tree that are being created: after a crash the next mount of the tree finds and removes what is
/// half made without looking through the tree (docs/decisions/0022-creation-notes.md). A note costs some stores to memory; the
/// file behind it outlives the process.
public final class CreationNotes: Sendable {
    /// So many creations can be noted at a time; those beyond are not.
    static let capacity = 32
    static let headerSize = 4096
    static let size = headerSize + capacity * CreationNoteFormat.size

    private let file: SharedMemoryFile
    private let directory: SharedDescriptor
    private let name: String
    /// Bits of the places that are taken.
    private let taken = Atomic<UInt64>(0)
    /// Handles do not lead back to the tree's directories for certain: names are noted, too.
    private let needsPaths: Bool
    /// As which user file systems see threads that act for root, and for others.
    private let makers: (root: UInt32, others: UInt32)

    init(_ file: SharedMemoryFile, named name: String, in directory: SharedDescriptor, needsPaths: Bool) {
        (self.file, self.name, self.directory, self.needsPaths) = (file, name, directory, needsPaths)
        makers = (FileSystemUser.owner, FileSystemUser.restrictedID ?? FileSystemUser.owner)
    }

    /// Nothing is created any more.
    func end() {
        guard taken.load(ordering: .sequentiallyConsistent) == 0 else { return }
        try? FileSystemUser.asRoot { () throws(Errno) in try Syscall.unlinkat(directory.rawValue, name) }
    }

    /// Notes that an object is about to be created.
    /// - Parameters:
    ///   - mode: type bits and permissions that it is created with.
    ///   - owner: whose it is to be.
    /// - Returns: what `remove` is told when the object is finished or gone; nil if there was no room for the note.
    func note(
        _ name: UnsafePointer<CChar>, in parent: ObjectState, of tree: BackingTree, mode: UInt32, owner: UInt32, byRoot: Bool
    ) -> Int? {
        var path: [[UInt8]]?
        // A handle leads back on the tree's own file system only, and only where the daemon may open it.
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
