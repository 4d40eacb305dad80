import CFuseMount

/// Mounts: attaches a device descriptor to a mount point. The kernel's own permission checks are never enabled.
public enum FuseMount {
    /// Flags of a mount.
    public struct Flags: OptionSet, Hashable, Sendable {
        public var rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        public static let readOnly = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_READ_ONLY))
        public static let noSetID = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NOSUID))
        public static let noDevices = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NODEV))
        public static let noExecution = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NOEXEC))
        public static let noAccessTime = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NOATIME))
        public static let strictAccessTime = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_STRICTATIME))
        public static let synchronous = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_SYNC))
        public static let synchronousDirectories = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_DIRSYNC))
        public static let noDirectoryAccessTime = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NODIRATIME))
        public static let noSymlinkFollow = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_NOSYMFOLLOW))
        public static let allowOther = Flags(rawValue: UInt32(ACLFS_FUSE_MOUNT_ALLOW_OTHER))
    }

    /// mount(2). Needs CAP_SYS_ADMIN.
    /// - Parameters:
    ///   - source: the first field of the mount table.
    ///   - mountpoint: an existing directory.
    ///   - flags: of the mount.
    ///   - uid: the user who mounts.
    ///   - gid: the group of the user who mounts.
    ///   - extra: a comma-separated list of the kernel's FUSE options.
    /// - Returns: the device descriptor, which the caller owns.
    /// - Throws: step `mount`.
    public static func mountAsRoot(
        source: String, at mountpoint: String, flags: Flags = [.noDevices, .allowOther], uid: UInt32 = 0,
        gid: UInt32 = 0, extra: String? = nil
    ) throws(SessionError) -> Int32 {
        let result = aclfs_fuse_mount(source, mountpoint, flags.rawValue, uid, gid, extra)
        guard result >= 0 else { throw SessionError(.mount, errno: -result) }
        return result
    }

    /// As `mountAsRoot`, but detached: the owner of the mount's descriptor attaches it. The mount ends when its last
    /// attachment and the last copy of the descriptor are gone.
    /// - Parameters:
    ///   - source: the first field of the mount table.
    ///   - flags: of the mount.
    ///   - extra: lines `key=value` for the kernel.
    /// - Returns: descriptors of the device and of the mount, which the caller owns.
    /// - Throws: step `mount`.
    public static func mountDetached(
        source: String, flags: Flags, extra: String? = nil
    ) throws(SessionError) -> (device: Int32, mount: Int32) {
        var mount: Int32 = -1
        let result = aclfs_fuse_mount_detached(source, flags.rawValue, extra, &mount)
        guard result >= 0 else { throw SessionError(.mount, errno: -result) }
        return (result, mount)
    }

    /// Mounts for ordinary users with fusermount3, which always adds nosuid and nodev.
    /// - Parameters:
    ///   - source: the first field of the mount table.
    ///   - mountpoint: an existing directory.
    ///   - flags: of the mount.
    ///   - extra: a comma-separated list of the kernel's FUSE options.
    ///   - report: receives each line of the helper's output, such as a reason. It may contain the mount point
    ///     unescaped.
    /// - Returns: the device descriptor, which the caller owns.
    /// - Throws: step `mountThroughFusermount`.
    public static func mountThroughFusermount(
        source: String, at mountpoint: String, flags: Flags = [], extra: String? = nil, report: (String) -> Void = { _ in }
    ) throws(SessionError) -> Int32 {
        var reason = [CChar](repeating: 0, count: 4096)
        let result = aclfs_fuse_mount_by_helper(source, mountpoint, flags.rawValue, extra, &reason, reason.count)
        let output = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        for line in output.split(separator: 0x0A) { report(String(decoding: line, as: UTF8.self)) }
        guard result >= 0 else { throw SessionError(.mountThroughFusermount, errno: -result) }
        return result
    }

    /// umount2(2); `lazily` detaches even if the mount is busy.
    public static func unmount(_ mountpoint: String, lazily: Bool = false) throws(SessionError) {
        let result = aclfs_fuse_unmount(mountpoint, lazily)
        guard result == 0 else { throw SessionError(.unmount, errno: -result) }
    }
}
