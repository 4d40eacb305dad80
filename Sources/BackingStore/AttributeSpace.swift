import ACLFormats
import Authorization
import LinuxSystem

/// How much a file system lets all attributes of one object take together, counted as ext4 counts: for each
/// attribute 16 bytes, its name without the prefix, and its value, the last two rounded up together and alone to 4.
public struct AttributeSpace: Hashable, Sendable {
    /// nil = the attributes of an object do not take room from each other, or so much that it does not matter.
    public let capacity: Int?
    /// Whether values that do not fit are kept elsewhere (ext4's `ea_inode`), so that only names take this room.
    public let spills: Bool

    public static let ample = AttributeSpace(capacity: nil)
    public init(capacity: Int?, spills: Bool = false) { (self.capacity, self.spills) = (capacity, spills) }

    /// ext2, ext3 and ext4 without `ea_inode` have one block beside what fits into the inode itself; 32 bytes of it
    /// are its header and 4 its end. The inode's own room is not counted: what lies there is not ours to arrange.
    public static func extBlock(size: Int, spills: Bool = false) -> AttributeSpace {
        AttributeSpace(capacity: max(size - 36, 0), spills: spills)
    }

    /// What one attribute takes.
    public static func footprint(name: [UInt8], size: Int) -> Int {
        let prefix = name.firstIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
        return (name.count - prefix + 16 + 3) & ~3 + (size + 3) & ~3
    }

    /// How many entries a list can have here if no other attribute is there; 128 at most.
    public func entries(recordName: String) -> Int {
        guard let capacity, !spills else { return ACL.maximumEntryCount }
        let value = capacity - Self.footprint(name: Array(recordName.utf8), size: 0)
        let entries = (value - MetadataRecord.size(entries: 0)) / MetadataRecord.entrySize
        return min(max(entries, 0), ACL.maximumEntryCount)
    }
}

extension AttributeSpace {
    /// Learns it from a directory of the file system: by type and block size where these say it, otherwise by
    /// trying on a file without a name, which nobody sees and no crash leaves behind.
    public static func measured(in directory: Int32, recordName: String) throws(Errno) -> AttributeSpace {
        let status = try Syscall.fstatvfs(directory)
        switch status.type {
        case FileSystemType.ext4:
            return extBlock(size: Int(status.bsize), spills: holdsLargeValues(directory, recordName))
        case FileSystemType.xfs, FileSystemType.btrfs, FileSystemType.tmpfs: return .ample
        default:
            // On a full file system a refusal would say nothing.
            guard status.bavail > 64, let file = scratch(directory) else { return .ample }
            return tried(on: file, recordName)
        }
    }

    /// The same without a directory to try in.
    static func known(_ descriptor: Int32) throws(Errno) -> AttributeSpace {
        let status = try Syscall.fstatvfs(descriptor)
        return status.type == FileSystemType.ext4 ? extBlock(size: Int(status.bsize)) : .ample
    }

    private static func scratch(_ directory: Int32) -> OwnedDescriptor? {
        try? Syscall.openat(directory, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600)
    }

    /// ext4's `ea_inode`; nothing else shows it. On a full file system it seems not to be there, which errs on the
    /// side of the record.
    private static func holdsLargeValues(_ directory: Int32, _ recordName: String) -> Bool {
        guard let file = scratch(directory) else { return false }
        return holds(file.rawValue, recordName, size: 65_536)
    }

    /// Whether sixteen larger attributes fit beside the longest record, and if not, what fits at all.
    static func tried(on file: borrowing OwnedDescriptor, _ recordName: String) -> AttributeSpace {
        let descriptor = file.rawValue
        var fits = holds(descriptor, recordName, size: MetadataRecord.maximumSize)
        for number in 0..<16 where fits { fits = holds(descriptor, "user.aclfs.room\(number)", size: 4096) }
        if fits { return .ample }
        for number in 0..<16 { try? Syscall.removexattr(.open(descriptor), "user.aclfs.room\(number)") }
        try? Syscall.removexattr(.open(descriptor), recordName)
        var (held, refused) = (0, 65_537)
        while refused - held > 1 {
            let middle = (held + refused) / 2
            if holds(descriptor, recordName, size: middle) { held = middle } else { refused = middle }
        }
        return AttributeSpace(capacity: footprint(name: Array(recordName.utf8), size: held))
    }

    private static func holds(_ descriptor: Int32, _ name: String, size: Int) -> Bool {
        do { try Syscall.setxattr(.open(descriptor), name, [UInt8](repeating: 0x41, count: size)) } catch { return false }
        return true
    }
}

/// The attribute spaces of a tree's file systems, each learned once.
final class AttributeSpaces: Sendable {
    private let spaces = Lock<[UInt64: AttributeSpace]>([:])

    /// - Parameter learn: asked outside the lock; twice at most for one device, with the same answer.
    func space(
        device: UInt64, _ learn: () throws(Errno) -> AttributeSpace
    ) throws(Errno) -> AttributeSpace {
        if let space = spaces.withLock({ $0[device] }) { return space }
        let space = try learn()
        spaces.withLock { $0[device] = space }
        return space
    }
}
