import CFuseShim

/// Attaches a device descriptor to a mount point. The kernel's own permission checks are never asked for.
public enum FuseMount {
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

    /// mount(2): needs CAP_SYS_ADMIN. `extra` is a comma-separated list of the kernel's FUSE options.
    public static func mountAsRoot(
        source: String, at mountpoint: String, flags: Flags = [.noDevices, .allowOther], uid: UInt32 = 0,
        gid: UInt32 = 0, extra: String? = nil
    ) throws(SessionError) -> Int32 {
        let result = aclfs_fuse_mount(source, mountpoint, flags.rawValue, uid, gid, extra)
        guard result >= 0 else { throw SessionError(.mount, errno: -result) }
        return result
    }

    /// As `mountAsRoot`, attached nowhere: whoever gets the mount's descriptor attaches it, and when the last place and
    /// the last copy of the descriptor are gone, the mount is.
    /// - Parameter extra: lines `key=value` for the kernel.
    public static func mountNowhere(
        source: String, flags: Flags, extra: String? = nil
    ) throws(SessionError) -> (device: Int32, mount: Int32) {
        var mount: Int32 = -1
        let result = aclfs_fuse_mount_nowhere(source, flags.rawValue, extra, &mount)
        guard result >= 0 else { throw SessionError(.mount, errno: -result) }
        return (result, mount)
    }

    /// For ordinary users; the helper always adds nosuid and nodev.
    /// - Parameter report: is given each line that the helper printed, such as why it refuses. The mount point stands in it as it is.
    public static func mountThroughFusermount(
        source: String, at mountpoint: String, flags: Flags = [], extra: String? = nil, report: (String) -> Void = { _ in }
    ) throws(SessionError) -> Int32 {
        var reason = [CChar](repeating: 0, count: 4096)
        let result = aclfs_fuse_mount_by_helper(source, mountpoint, flags.rawValue, extra, &reason, reason.count)
        let said = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        for line in said.split(separator: 0x0A) { report(String(decoding: line, as: UTF8.self)) }
        guard result >= 0 else { throw SessionError(.mountThroughFusermount, errno: -result) }
        return result
    }

    /// umount2(2); `lazily` detaches even if the mount is busy.
    public static func unmount(_ mountpoint: String, lazily: Bool = false) throws(SessionError) {
        let result = aclfs_fuse_unmount(mountpoint, lazily)
        guard result == 0 else { throw SessionError(.unmount, errno: -result) }
    }
}
