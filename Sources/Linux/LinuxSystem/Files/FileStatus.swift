import CLinux

/// A point in time: seconds since 1970 and nanoseconds below a second.
public struct Timespec: Hashable, Sendable, Comparable {
    public var sec: Int64
    public var nsec: UInt32

    public init(sec: Int64, nsec: UInt32) { (self.sec, self.nsec) = (sec, nsec) }

    public static func < (left: Timespec, right: Timespec) -> Bool {
        (left.sec, left.nsec) < (right.sec, right.nsec)
    }

    /// This time, moved. A file system may store any number as a time, so the sum ends at the last time that can be told.
    public func moved(seconds: Int64 = 0, nanoseconds: Int64 = 0) -> Timespec {
        let second: Int64 = 1_000_000_000
        let (quotient, rest) = (Int64(nsec) + nanoseconds % second).quotientAndRemainder(dividingBy: second)
        // The carry into whole seconds.
        let carry = quotient + nanoseconds / second - (rest < 0 ? 1 : 0)
        let (whole, overflows) = sec.addingReportingOverflow(seconds)
        let (sum, overflowsAgain) = whole.addingReportingOverflow(carry)
        if overflows || overflowsAgain { return Timespec(sec: (overflows ? seconds : carry) < 0 ? .min : .max, nsec: 0) }
        return Timespec(sec: sum, nsec: UInt32(rest < 0 ? rest + second : rest))
    }
}

/// The result of statx(2). Sizes are in bytes and at most `Int64.max`, whatever a file system says; `blocks` in units of 512 bytes.
public struct FileStatus: Hashable, Sendable {
    /// Device numbers have the major number in the upper and the minor in the lower 32 bits.
    public var device: UInt64
    public var rdev: UInt64
    public var inode: UInt64
    /// Type and permission bits, see `FileType`.
    public var mode: UInt32
    public var nlink: UInt32
    public var uid: UInt32
    public var gid: UInt32
    public var size: UInt64
    public var blocks: UInt64
    public var blksize: UInt32
    public var atime: Timespec
    public var mtime: Timespec
    public var ctime: Timespec
    /// Zero unless `hasBirthTime`.
    public var btime: Timespec
    public var hasBirthTime: Bool
    /// 0 if the kernel does not say.
    public var mountID: UInt64
    /// STATX_ATTR bits; `attributesMask` has those that the file system supports.
    public var attributes: UInt64
    public var attributesMask: UInt64
    /// Whether the object is the root of its mount (STATX_ATTR_MOUNT_ROOT, Linux 5.8).
    public var isMountRoot: Bool { attributes & 0x2000 != 0 }

    public var type: UInt32 { mode & FileType.mask }
    public var isDirectory: Bool { type == FileType.directory }
    public var isRegular: Bool { type == FileType.regular }
    public var isSymlink: Bool { type == FileType.symlink }

    init(_ status: aclfs_status) {
        device = status.device
        rdev = status.rdev
        inode = status.inode
        mode = status.mode
        nlink = status.links
        uid = status.uid
        gid = status.gid
        size = min(status.size, UInt64(Int64.max))
        blocks = status.blocks
        blksize = status.block_size
        atime = Timespec(sec: status.atime_sec, nsec: status.atime_nsec)
        mtime = Timespec(sec: status.mtime_sec, nsec: status.mtime_nsec)
        ctime = Timespec(sec: status.ctime_sec, nsec: status.ctime_nsec)
        btime = Timespec(sec: status.btime_sec, nsec: status.btime_nsec)
        hasBirthTime = status.mask & StatMask.birthTime != 0
        mountID = status.mask & StatMask.mountID != 0 ? status.mount_id : 0
        attributes = status.attributes
        attributesMask = status.attributes_mask
    }
}

extension Syscall {
    /// The status of a descriptor's object.
    /// - Parameters:
    ///   - descriptor: any descriptor.
    ///   - mask: of `StatMask`.
    ///   - flags: `AtFlag.forceSync`, `.dontSync` or 0.
    public static func statx(
        _ descriptor: Int32, mask: UInt32 = StatMask.all, flags: Int32 = 0
    ) throws(Errno) -> FileStatus {
        try statxAt(descriptor, "", mask: mask, flags: AtFlag.emptyPath | flags)
    }

    /// The status of the object of a name. A symlink is followed unless `flags` has `AtFlag.symlinkNoFollow` (the default).
    public static func statxAt(
        _ directory: Int32, _ name: UnsafePointer<CChar>, mask: UInt32 = StatMask.all,
        flags: Int32 = AtFlag.symlinkNoFollow
    ) throws(Errno) -> FileStatus {
        var status = aclfs_status()
        try repeating { aclfs_statx(directory, name, flags, mask, &status) }
        return FileStatus(status)
    }
}

/// The result of fstatfs(2). Block counts are in units of `frsize` bytes.
public struct FileSystemStatus: Hashable, Sendable {
    public var type: UInt64
    public var bsize: UInt64
    public var frsize: UInt64
    public var blocks: UInt64
    public var bfree: UInt64
    public var bavail: UInt64
    public var files: UInt64
    public var ffree: UInt64
    public var namemax: UInt64
    public var fsid: UInt64
    /// ST_* bits.
    public var flags: UInt64
}

extension Syscall {
    /// The status of the file system of any descriptor.
    public static func fstatvfs(_ descriptor: Int32) throws(Errno) -> FileSystemStatus {
        var status = aclfs_fs_status()
        try repeating { aclfs_fstatfs(descriptor, &status) }
        return FileSystemStatus(
            type: status.type, bsize: status.block_size, frsize: status.fragment_size, blocks: status.blocks,
            bfree: status.blocks_free, bavail: status.blocks_available, files: status.files, ffree: status.files_free,
            namemax: status.name_max, fsid: status.id, flags: status.flags)
    }

    /// The magic number of the file system (`FileSystemType`).
    public static func fileSystemType(_ descriptor: Int32) throws(Errno) -> UInt64 {
        try fstatvfs(descriptor).type
    }
}
