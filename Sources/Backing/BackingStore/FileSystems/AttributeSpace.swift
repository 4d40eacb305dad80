import ACLFormats
import Authorization
import LinuxSystem

/// The space that a file system has for all attributes of one object, counted as in ext4. Each attribute takes 16 bytes, its name
/// without the prefix, and its value. The name and the value are each rounded up to a multiple of 4.
public struct AttributeSpace: Hashable, Sendable {
    /// In bytes; nil = unlimited, or so large that it does not matter.
    public let capacity: Int?
    /// Whether large values are stored elsewhere (ext4's `ea_inode`), so that only names take space here.
    public let spills: Bool

    public static let ample = AttributeSpace(capacity: nil)
    public init(capacity: Int?, spills: Bool = false) { (self.capacity, self.spills) = (capacity, spills) }

    /// ext2, ext3 and ext4 without `ea_inode` have one block besides the inode's own space. 32 bytes of it are its header and 4 its
    /// end. The inode's own space is not counted: the kernel decides what it stores there.
    public static func extBlock(size: Int, spills: Bool = false) -> AttributeSpace {
        AttributeSpace(capacity: max(size - 36, 0), spills: spills)
    }

    /// The space of one attribute, in bytes.
    public static func footprint(name: [UInt8], size: Int) -> Int {
        let prefix = name.firstIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
        return (name.count - prefix + 16 + 3) & ~3 + (size + 3) & ~3
    }

    /// The longest list that fits if the object has no other attribute; 128 at most.
    public func entries(recordName: String) -> Int {
        guard let capacity, !spills else { return ACL.maximumEntryCount }
        let value = capacity - Self.footprint(name: Array(recordName.utf8), size: 0)
        let entries = (value - MetadataRecord.size(entries: 0)) / MetadataRecord.entrySize
        return min(max(entries, 0), ACL.maximumEntryCount)
    }

    /// The space that is kept for a record, in bytes: as it is, and with so many entries more, up to the longest. Where that never fits (blocks
    /// of 1 and 2 KiB), four more at most, so that others get some.
    /// - Parameter present: the size of the record that is there; nil: none.
    func reservation(recordName: String, present: Int?, entries: Int) -> Int {
        let name = Array(recordName.utf8)
        let longestFits = capacity.map { Self.footprint(name: name, size: MetadataRecord.maximumSize) <= $0 } ?? true
        // A record without a list also needs the list's header.
        let size = (present ?? 0) + MetadataRecord.size(entries: longestFits ? entries : min(entries, 4))
        return Self.footprint(name: name, size: longestFits ? min(size, MetadataRecord.maximumSize) : size)
    }

    /// The largest value of another attribute on an object without a list, in bytes: 64 KiB for each where there is space for each, else
    /// less for all together.
    public func forOthers(recordName: String, entries: Int) -> Int {
        guard let capacity, !spills else { return Self.largestValue }
        let left = capacity - reservation(recordName: recordName, present: nil, entries: entries)
        return min(max(left - Self.footprint(name: Array("user.name".utf8), size: 0), 0), Self.largestValue)
    }

    /// The kernel's limit.
    public static let largestValue = 65_536
}

extension AttributeSpace {
    /// Measures it: by type and block size where these are enough, otherwise with a file without a name, which no caller sees and
    /// no crash leaves behind.
    public static func measured(in directory: Int32, recordName: String) throws(Errno) -> AttributeSpace {
        let status = try Syscall.fstatvfs(directory)
        switch status.type {
        case FileSystemType.ext4:
            return extBlock(size: Int(clamping: status.bsize), spills: holdsLargeValues(directory, recordName))
        case FileSystemType.xfs, FileSystemType.btrfs, FileSystemType.tmpfs: return .ample
        default:
            // On a full file system a failure proves nothing.
            guard status.bavail > 64, let file = scratch(directory) else { return .ample }
            return tried(on: file, recordName)
        }
    }

    /// By the type only, without a directory for a test file.
    static func known(_ descriptor: Int32) throws(Errno) -> AttributeSpace {
        let status = try Syscall.fstatvfs(descriptor)
        return status.type == FileSystemType.ext4 ? extBlock(size: Int(clamping: status.bsize)) : .ample
    }

    private static func scratch(_ directory: Int32) -> OwnedDescriptor? {
        try? Syscall.openat(directory, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600)
    }

    /// Whether ext4 has `ea_inode`; no call reports it. On a full file system the test fails, and then the record has priority.
    private static func holdsLargeValues(_ directory: Int32, _ recordName: String) -> Bool {
        guard let file = scratch(directory) else { return false }
        return holds(file.rawValue, recordName, size: 65_536)
    }

    /// Unlimited if sixteen large attributes fit beside the longest record; otherwise the largest value that fits.
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

/// The attribute spaces of a tree's file systems, each measured once.
final class AttributeSpaces: Sendable {
    private let spaces = Lock<[UInt64: AttributeSpace]>([:])

    /// - Parameters:
    ///   - device: the file system.
    ///   - measure: called without the lock; twice at most for one device, with the same result.
    func space(
        device: UInt64, _ measure: () throws(Errno) -> AttributeSpace
    ) throws(Errno) -> AttributeSpace {
        if let space = spaces.withLock({ $0[device] }) { return space }
        let space = try measure()
        spaces.withLock { $0[device] = space }
        return space
    }
}
