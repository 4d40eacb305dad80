import CLinux

/// The system calls, one short function each.
///
/// - Names and paths are bytes ending in NUL and are never decoded. A `String` can be passed too.
/// - Descriptors are borrowed as numbers. A call that opens one returns its owner; it is closed on exec.
/// - A call interrupted by a signal is repeated, unless its comment says otherwise.
/// - "Any descriptor" in a comment includes O_PATH descriptors.
///
/// It has extensions by subject, because a call is looked for by the name that its manual page has.
public enum Syscall {
    /// The directory argument for the working directory.
    public static let workingDirectory = aclfs_AT_FDCWD
}

// MARK: Opening

extension Syscall {
    /// openat(2).
    /// - Parameters:
    ///   - directory: any descriptor of the directory, or `workingDirectory`.
    ///   - name: the name or path.
    ///   - flags: of `OpenFlag`.
    ///   - mode: of a file that is created.
    public static func openat(
        _ directory: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32, mode: UInt32 = 0
    ) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try repeating { aclfs_openat(directory, name, flags, mode) })
    }

    /// Opens a name in a directory, or a path below it, without following a symlink, a `..` or a mount point (openat2(2), Linux 5.6).
    /// - Parameters:
    ///   - directory: any descriptor of the directory.
    ///   - name: the name or path.
    ///   - flags: of `OpenFlag`, none that creates.
    /// - Throws: xdev for `..`, an absolute path and a mount point; loop for a symlink, unless it comes last and `flags` has `path` and
    ///   `noFollow`.
    public static func openBeneath(_ directory: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try repeating { aclfs_open_beneath(directory, name, flags) })
    }

    /// Opens a path for a command.
    public static func open(
        _ path: UnsafePointer<CChar>, _ flags: Int32, mode: UInt32 = 0
    ) throws(Errno) -> OwnedDescriptor {
        try openat(workingDirectory, path, flags, mode: mode)
    }

    /// Opens the object of any descriptor again, with new flags and a new offset. O_NOFOLLOW is removed: with it the link in /proc
    /// would fail.
    /// - Throws: loop for a symlink.
    public static func reopen(_ descriptor: Int32, _ flags: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try repeating { aclfs_reopen(descriptor, flags) })
    }

    /// A further descriptor of the same open file.
    public static func dup(_ descriptor: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_dup(descriptor)))
    }

    /// A file in memory without a name in any directory, for the output of another program.
    public static func memoryFile(_ name: UnsafePointer<CChar>) throws(Errno) -> SharedDescriptor {
        SharedDescriptor(rawValue: try value(aclfs_memory_file(name)))
    }
}

extension Syscall {
    /// A private, detached copy of a directory's mount, without the mounts below it. The descriptor is O_PATH.
    /// - Throws: perm without CAP_SYS_ADMIN.
    public static func cloneMount(_ directory: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_clone_mount(directory)))
    }

    /// Sets when a detached mount updates access times.
    /// - Parameters:
    ///   - mount: a descriptor of its root.
    ///   - files: nil = as they are.
    ///   - leavesDirectories: true = access times of directories are not updated.
    public static func setAccessTimes(
        ofMount mount: Int32, _ files: MountAccessTimes?, leavesDirectories: Bool
    ) throws(Errno) {
        try value(aclfs_set_access_times(mount, files?.rawValue ?? -1, leavesDirectories ? 1 : 0))
    }
}

// MARK: Names

extension Syscall {
    /// mkdirat(2); `mode` without the type.
    public static func mkdirat(_ directory: Int32, _ name: UnsafePointer<CChar>, mode: UInt32) throws(Errno) {
        try repeating { aclfs_mkdirat(directory, name, mode) }
    }

    /// `mode` includes the type; `device` holds the major number in its upper 32 bits.
    public static func mknodat(
        _ directory: Int32, _ name: UnsafePointer<CChar>, mode: UInt32, device: UInt64 = 0
    ) throws(Errno) {
        try repeating { aclfs_mknodat(directory, name, mode, device) }
    }

    /// symlinkat(2).
    public static func symlinkat(
        target: UnsafePointer<CChar>, _ directory: Int32, _ name: UnsafePointer<CChar>
    ) throws(Errno) {
        try repeating { aclfs_symlinkat(target, directory, name) }
    }

    /// linkat(2); `flags` of `AtFlag`.
    public static func linkat(
        _ directory: Int32, _ name: UnsafePointer<CChar>, to newDirectory: Int32, _ newName: UnsafePointer<CChar>,
        flags: Int32 = 0
    ) throws(Errno) {
        try repeating { aclfs_linkat(directory, name, newDirectory, newName, flags) }
    }

    /// Links the object of any descriptor, of O_TMPFILE too.
    public static func link(
        descriptor: Int32, to newDirectory: Int32, _ newName: UnsafePointer<CChar>
    ) throws(Errno) {
        try repeating { aclfs_link_descriptor(descriptor, newDirectory, newName) }
    }

    /// `flags`: `AtFlag.removeDirectory` or 0.
    public static func unlinkat(
        _ directory: Int32, _ name: UnsafePointer<CChar>, flags: Int32 = 0
    ) throws(Errno) {
        try repeating { aclfs_unlinkat(directory, name, flags) }
    }

    /// `flags` of `RenameFlag`.
    public static func renameat2(
        _ directory: Int32, _ name: UnsafePointer<CChar>, to newDirectory: Int32, _ newName: UnsafePointer<CChar>,
        flags: UInt32 = 0
    ) throws(Errno) {
        try repeating { aclfs_renameat2(directory, name, newDirectory, newName, flags) }
    }

    /// Fills the buffer with the target, without a NUL. A size equal to the buffer's may mean that the target was cut.
    /// - Parameters:
    ///   - directory: the directory; with the name "" an O_PATH descriptor of the symlink.
    ///   - name: the name of the symlink.
    ///   - buffer: receives the target.
    /// - Returns: the size of the target in bytes.
    public static func readlinkat(
        _ directory: Int32, _ name: UnsafePointer<CChar> = emptyName, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_readlinkat(directory, name, buffer.baseAddress, UInt64(buffer.count)) })
    }

    /// The whole target.
    public static func readlinkat(
        _ directory: Int32, _ name: UnsafePointer<CChar> = emptyName
    ) throws(Errno) -> [UInt8] {
        var room = 256
        while true {
            var target = [UInt8](repeating: 0, count: room)
            let count = try value(aclfs_readlinkat(directory, name, &target, UInt64(room)))
            if count < room {
                target.removeLast(room - Int(count))
                return target
            }
            room *= 2
        }
    }

    /// The empty C string: with `AtFlag.emptyPath` it means the descriptor's object.
    public static var emptyName: UnsafePointer<CChar> {
        // A literal's bytes are static and end in NUL.
        UnsafeRawPointer(StaticString("").utf8Start).assumingMemoryBound(to: CChar.self)
    }
}

// MARK: Attributes

/// How a call sets a time.
public enum TimeSetting: Hashable, Sendable {
    case omit
    case now
    case set(Timespec)

    fileprivate var pair: (sec: Int64, nsec: Int64) {
        switch self {
        case .omit: (0, aclfs_UTIME_OMIT)
        case .now: (0, aclfs_UTIME_NOW)
        case .set(let time): (time.sec, Int64(time.nsec))
        }
    }
}

extension Syscall {
    /// Sets the 12-bit mode of the object of any descriptor. Errors: opnotsupp for a symlink.
    public static func fchmod(_ descriptor: Int32, mode: UInt32) throws(Errno) {
        try repeating { aclfs_chmod(descriptor, mode) }
    }

    /// Sets owner and group of the object of any descriptor; `UInt32.max` leaves one as it is.
    public static func fchown(_ descriptor: Int32, uid: UInt32, gid: UInt32) throws(Errno) {
        try repeating { aclfs_chown(descriptor, uid, gid) }
    }

    /// The same for an object without set-id bits, as one that was just made.
    public static func fchown(new descriptor: Int32, uid: UInt32, gid: UInt32) throws(Errno) {
        try repeating { aclfs_chown_new(descriptor, uid, gid) }
    }

    /// Sets the times of the object of any descriptor.
    public static func utimens(
        _ descriptor: Int32, access: TimeSetting, modification: TimeSetting
    ) throws(Errno) {
        let (first, second) = (access.pair, modification.pair)
        let seconds: InlineArray<2, Int64> = [first.sec, second.sec]
        let nanoseconds: InlineArray<2, Int64> = [first.nsec, second.nsec]
        try repeating {
            seconds.span.withUnsafeBufferPointer { seconds in
                nanoseconds.span.withUnsafeBufferPointer { nanoseconds in
                    guard let seconds = seconds.baseAddress, let nanoseconds = nanoseconds.baseAddress else {
                        return -Errno.inval.rawValue
                    }
                    return aclfs_utimens(descriptor, seconds, nanoseconds)
                }
            }
        }
    }

    /// Sets the size of a file that is open for writing, in bytes.
    public static func ftruncate(_ descriptor: Int32, size: Int64) throws(Errno) {
        try repeating { aclfs_ftruncate(descriptor, size) }
    }

    /// Sets the size of the object of any descriptor.
    public static func truncate(_ descriptor: Int32, size: Int64) throws(Errno) {
        try repeating { aclfs_truncate(descriptor, size) }
    }
}

// MARK: Data

extension Syscall {
    /// `mode` of `AllocateFlag`. Not repeated after a signal, because the next signal may come before the call is done.
    public static func fallocate(_ descriptor: Int32, mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        try value(aclfs_fallocate(descriptor, mode, offset, length))
    }

    /// Removes clean pages of a range of an open file from the page cache.
    public static func dropCached(_ fd: Int32, offset: Int64, length: Int64) throws(Errno) {
        try value(aclfs_drop_cached(fd, offset, length))
    }

    /// Sets the offset. On a directory, offsets are the opaque numbers of `DirectoryEntry.nextOffset`.
    /// - Returns: the new offset. With `Seek.hole` it may be negative, which is no place: the kernel counts past the last byte that a file can
    ///   have (tmpfs, XFS, Btrfs).
    /// - Throws: nxio if `Seek.data` or `.hole` starts at or past the end.
    @discardableResult
    public static func lseek(_ descriptor: Int32, offset: Int64, whence: Int32) throws(Errno) -> Int64 {
        try value(aclfs_lseek(descriptor, offset, whence))
    }

    /// - Returns: the number of bytes read; 0 at the end.
    public static func pread(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, offset: Int64
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_pread(descriptor, buffer.baseAddress, UInt64(buffer.count), offset) })
    }

    /// - Returns: the number of bytes written, which may be fewer than given.
    public static func pwrite(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, offset: Int64
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_pwrite(descriptor, bytes.baseAddress, UInt64(bytes.count), offset) })
    }

    /// Reads at the descriptor's offset.
    /// - Returns: the number of bytes read; 0 at the end.
    public static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_read(descriptor, buffer.baseAddress, UInt64(buffer.count)) })
    }

    /// Writes at the descriptor's offset.
    /// - Returns: the number of bytes written, which may be fewer than given.
    public static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
        Int(try repeating { aclfs_write(descriptor, bytes.baseAddress, UInt64(bytes.count)) })
    }

    /// Writes all bytes at the descriptor's offset, by as many calls as that takes.
    public static func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let outcome = bytes[written...].withUnsafeBytes { rest in Result { () throws(Errno) in try write(descriptor, rest) } }
            let count = try outcome.get()
            // write(2) never returns 0 here. A loop without end would be worse.
            if count == 0 { throw .io }
            written += count
        }
    }

    /// Reads from the descriptor's offset to the end: for short files of commands and of /proc.
    public static func readAll(_ descriptor: Int32, limit: Int = .max) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: min(4096, limit))
        var filled = 0
        while filled < bytes.count {
            let room = bytes.count - filled
            let count = try repeating {
                bytes.withUnsafeMutableBytes { buffer in
                    aclfs_read(descriptor, buffer.baseAddress?.advanced(by: filled), UInt64(room))
                }
            }
            if count == 0 { break }
            filled += Int(count)
            if filled == bytes.count, filled < limit {
                bytes.append(contentsOf: repeatElement(0, count: min(bytes.count, limit - filled)))
            }
        }
        bytes.removeLast(bytes.count - filled)
        return bytes
    }

    /// The whole content of a short file.
    public static func readAll(path: UnsafePointer<CChar>, limit: Int = .max) throws(Errno) -> [UInt8] {
        let descriptor = try open(path, OpenFlag.readOnly)
        return try readAll(descriptor.rawValue, limit: limit)
    }

    /// - Returns: the number of bytes copied; 0 at the end of the source.
    public static func copyFileRange(
        from source: Int32, offset: Int64, to target: Int32, offset targetOffset: Int64, length: Int
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_copy_file_range(source, offset, target, targetOffset, UInt64(length)) })
    }

    /// Writes data and metadata of a file to its disk.
    public static func fsync(_ descriptor: Int32) throws(Errno) { try repeating { aclfs_fsync(descriptor) } }
    /// Writes data of a file to its disk.
    public static func fdatasync(_ descriptor: Int32) throws(Errno) { try repeating { aclfs_fdatasync(descriptor) } }
    /// Writes all data of a file system to its disk.
    public static func syncfs(_ descriptor: Int32) throws(Errno) { try repeating { aclfs_syncfs(descriptor) } }
}

// MARK: Flag ioctls

/// The project and extent settings of FS_IOC_FSGETXATTR.
public struct InodeExtendedFlags: Hashable, Sendable {
    /// Bits of `InodeXFlag` and others of the file system.
    public var flags: UInt32
    public var extentSize: UInt32
    /// Reported only.
    public var extents: UInt32
    public var project: UInt32
    public var cowExtentSize: UInt32
}

/// Bits of the attributes of FAT and exFAT (linux/msdos_fs.h).
public enum FATAttribute {
    public static let readOnly: UInt32 = 1
    public static let hidden: UInt32 = 2
}

extension Syscall {
    /// The bits of FS_IOC_GETFLAGS (`InodeFlag`) of a real descriptor.
    /// - Throws: notty where the file system has none.
    public static func getFlags(_ descriptor: Int32) throws(Errno) -> UInt32 {
        var flags: UInt32 = 0
        try value(aclfs_get_flags(descriptor, &flags))
        return flags
    }

    /// Sets the bits of FS_IOC_SETFLAGS (`InodeFlag`) of a real descriptor.
    public static func setFlags(_ descriptor: Int32, _ flags: UInt32) throws(Errno) {
        try value(aclfs_set_flags(descriptor, flags))
    }

    /// The settings of FS_IOC_FSGETXATTR of a real descriptor.
    public static func getExtendedFlags(_ descriptor: Int32) throws(Errno) -> InodeExtendedFlags {
        var raw = aclfs_fsxattr()
        try value(aclfs_get_fsxattr(descriptor, &raw))
        return InodeExtendedFlags(
            flags: raw.flags, extentSize: raw.extent_size, extents: raw.extents, project: raw.project,
            cowExtentSize: raw.cow_extent_size)
    }

    /// The attributes of an object of FAT or exFAT (`FATAttribute`), by a real descriptor.
    /// - Throws: notty on other file systems.
    public static func getFATAttributes(_ descriptor: Int32) throws(Errno) -> UInt32 {
        var attributes: UInt32 = 0
        try value(aclfs_get_fat_attributes(descriptor, &attributes))
        return attributes
    }

    /// Sets the attributes of an object of FAT or exFAT, by a real descriptor.
    public static func setFATAttributes(_ descriptor: Int32, _ attributes: UInt32) throws(Errno) {
        try value(aclfs_set_fat_attributes(descriptor, attributes))
    }

    /// Opens a file or directory for the flag ioctls of a command.
    /// - Throws: loop for a symlink.
    public static func openForFlags(path: UnsafePointer<CChar>) throws(Errno) -> OwnedDescriptor {
        try open(path, OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noFollow)
    }

    /// As `getFlags`, of the object at a path.
    public static func getFlags(path: UnsafePointer<CChar>) throws(Errno) -> UInt32 {
        let descriptor = try openForFlags(path: path)
        return try getFlags(descriptor.rawValue)
    }

    /// As `setFlags`, of the object at a path.
    public static func setFlags(path: UnsafePointer<CChar>, _ flags: UInt32) throws(Errno) {
        let descriptor = try openForFlags(path: path)
        try setFlags(descriptor.rawValue, flags)
    }
}

// MARK: Mounts and the process

extension Syscall {
    /// mount(2); `flags` of `MountFlag`.
    public static func mount(
        source: UnsafePointer<CChar>?, target: UnsafePointer<CChar>, type: UnsafePointer<CChar>?, flags: UInt64,
        data: UnsafePointer<CChar>? = nil
    ) throws(Errno) {
        try value(aclfs_mount(source, target, type, flags, data))
    }

    /// `flags` of `UnmountFlag`.
    public static func unmount(_ target: UnsafePointer<CChar>, flags: Int32 = 0) throws(Errno) {
        try value(aclfs_umount(target, flags))
    }

    /// The number of descriptors that the process may have open: now, and at most without privilege.
    public static func descriptorLimit() throws(Errno) -> (soft: UInt64, hard: UInt64) {
        var limit: (soft: UInt64, hard: UInt64) = (0, 0)
        try value(aclfs_get_nofile(&limit.soft, &limit.hard))
        return limit
    }

    /// Sets RLIMIT_NOFILE.
    /// - Throws: perm if `hard` rises without CAP_SYS_RESOURCE.
    public static func setDescriptorLimit(soft: UInt64, hard: UInt64) throws(Errno) {
        try value(aclfs_set_nofile(soft, hard))
    }

    /// Raises the limit of file sizes as far as possible.
    public static func liftFileSizeLimit() throws(Errno) { try value(aclfs_lift_file_size_limit()) }

    /// A crash ends the process and starts no other program. Call it first of all in `main`.
    public static func endWithoutBacktrace() { aclfs_end_without_backtrace() }

    /// Sets the working directory of the process.
    public static func chdir(_ path: UnsafePointer<CChar>) throws(Errno) { try value(aclfs_chdir(path)) }

    /// Enters the mount namespace of a descriptor of /proc/PID/ns/mnt. Call it before any thread is started.
    public static func enterMountNamespace(_ fd: Int32) throws(Errno) { try value(aclfs_enter_mount_namespace(fd)) }

    /// Sets the process's mask.
    /// - Returns: the mask before.
    @discardableResult
    public static func umask(_ mask: UInt32) -> UInt32 { aclfs_umask(mask) }

    /// The id of the calling thread.
    public static var threadID: Int32 { aclfs_gettid() }
}

extension Array where Element == UInt8 {
    /// Calls `body` with the bytes as a C string.
    /// - Throws: inval if they contain a NUL.
    public func withCString<Result>(
        _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if contains(0) { throw .inval }
        let bytes = self + [0]
        return try bytes.withUnsafeBufferPointer { (buffer) throws(Errno) in
            guard let base = UnsafeRawPointer(buffer.baseAddress) else { throw .inval }
            return try body(base.assumingMemoryBound(to: CChar.self))
        }
    }
}
