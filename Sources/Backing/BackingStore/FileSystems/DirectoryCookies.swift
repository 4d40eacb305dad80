import LinuxSystem

/// What the positions in a directory of a file system are (d_off, telldir(3)). Programs with 32 bits take positions below 2^31 only, and the
/// kernel shortens them for 32-bit callers, which the daemon is not (docs/decisions/0033-small-cookies.md).
public enum DirectoryCookies: Sendable {
    /// Below 2^31.
    case small
    /// Of ext4, nearly always: names are in the order of a hash. A position has 31 bits of it in its upper half, and the name is the next one from
    /// there.
    case hashed
    /// Any number, known only to the file system or its server.
    case opaque

    /// The largest position in 32-bit programs: on ext4 the end of a directory.
    public static let largest: UInt64 = 0x7FFF_FFFF

    /// What those of a directory are, which a file system may have of two kinds.
    /// - Parameter descriptor: the open directory, which may be moved.
    public func ofDirectory(_ descriptor: Int32) throws(Errno) -> DirectoryCookies {
        // ext4 without dir_index has places in bytes.
        guard case .hashed = self, try Syscall.lseek(descriptor, offset: 0, whence: Seek.end) != .max else { return self }
        return .small
    }

    init(type: UInt64) {
        switch type {
        case FileSystemType.ext4: self = .hashed
        case FileSystemType.xfs, FileSystemType.btrfs, FileSystemType.tmpfs: self = .small
        default: self = .opaque
        }
    }
}
