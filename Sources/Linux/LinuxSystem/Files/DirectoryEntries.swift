import CLinux

/// One entry of a directory. The pointer is valid as long as the buffer.
public struct DirectoryEntry {
    /// Ends in NUL.
    public let name: UnsafePointer<CChar>
    /// Without the NUL.
    public let length: Int
    public let inode: UInt64
    /// The type as in readdir(3): the type bits of a mode shifted right by 12; 0 = unknown.
    public let type: UInt8
    /// Where a listing continues after this entry (lseek with `Seek.set`); opaque.
    public let nextOffset: Int64

    /// "." or "..".
    public var isDot: Bool {
        name[0] == dot && (length == 1 || length == 2 && name[1] == dot)
    }

    public var bytes: [UInt8] { Array(UnsafeRawBufferPointer(start: name, count: length)) }
}

private let dot = CChar(0x2E)

/// The records that `Syscall.getdents` wrote into a buffer. The buffer must outlive this value.
public struct DirectoryEntries: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    /// - Parameter buffer: the filled part of the buffer.
    public init(_ buffer: UnsafeRawBufferPointer) { rest = buffer }

    public mutating func next() -> DirectoryEntry? {
        let header = Int(aclfs_dirent_name_at)
        guard rest.count > header, let base = rest.baseAddress else { return nil }
        let size = Int(rest.loadUnaligned(fromByteOffset: Int(aclfs_dirent_length_at), as: UInt16.self))
        precondition(size > header && size <= rest.count, "a directory record ends outside its buffer")
        var length = 0
        while header + length < size, rest[header + length] != 0 { length += 1 }
        precondition(header + length < size, "a name in a directory record does not end")
        let entry = DirectoryEntry(
            name: (base + header).assumingMemoryBound(to: CChar.self),
            length: length,
            inode: rest.loadUnaligned(fromByteOffset: Int(aclfs_dirent_inode_at), as: UInt64.self),
            type: rest[Int(aclfs_dirent_type_at)],
            nextOffset: rest.loadUnaligned(fromByteOffset: Int(aclfs_dirent_next_at), as: Int64.self))
        rest = UnsafeRawBufferPointer(rebasing: rest[size...])
        return entry
    }
}

extension Syscall {
    /// Fills the buffer with records from the directory's offset on.
    /// - Returns: the size of the records in bytes; 0 at the end.
    /// - Throws: inval if the buffer is too small for one record (280 bytes are always enough).
    public static func getdents(
        _ directory: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_getdents(directory, buffer.baseAddress, UInt64(buffer.count)) })
    }

    /// Moves a directory to where its next entry is: getdents(2) without room for any gets that far.
    /// - Parameters:
    ///   - directory: an open directory.
    ///   - offset: where the search begins.
    /// - Returns: the offset of the entry.
    public static func findNextEntry(_ directory: Int32, from offset: Int64) throws(Errno) -> Int64 {
        try lseek(directory, offset: offset, whence: Seek.set)
        do throws(Errno) { _ = try getdents(directory, into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) } catch {
            if error != .inval { throw error }
        }
        return try lseek(directory, offset: 0, whence: Seek.current)
    }

    /// All names but "." and "..", from the directory's offset on: for commands.
    public static func names(_ directory: Int32) throws(Errno) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 32768)
        while true {
            let more = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                let count = try getdents(directory, into: buffer)
                for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: buffer[..<count])) where !entry.isDot {
                    names.append(entry.bytes)
                }
                return count > 0
            }
            if !more { return names }
        }
    }
}
