extension MountInfo {
    private static let typesWithStableNames: Set<String> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "f2fs", "jfs", "nilfs2", "reiserfs", "ubifs", "jffs2", "tmpfs",
        "ramfs", "devtmpfs", "rootfs", "overlay", "squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf", "vfat", "msdos", "exfat",
        "ntfs3", "hfs", "hfsplus", "proc", "sysfs", "devpts", "mqueue", "hugetlbfs", "cgroup", "cgroup2", "securityfs", "debugfs",
        "tracefs", "configfs", "fusectl", "bpf", "pstore", "efivarfs", "binfmt_misc", "nsfs", "selinuxfs",
    ]

    /// Whether names change only by calls on this host. Other file systems (FUSE and those of other machines) revalidate a name at
    /// a look-up. If it no longer refers to the same object, the kernel detaches the mounts on it, in all namespaces. An unknown
    /// type counts as one of those.
    public var hasStableNames: Bool { Self.typesWithStableNames.contains(String(decoding: type, as: UTF8.self)) }

    private static let unhashed = Array("//deleted".utf8)

    /// Whether its root was removed from the file system. Without stable names the kernel reports the same for an entry that it
    /// invalidated.
    public var isRemoved: Bool { hasStableNames && root.suffix(Self.unhashed.count).elementsEqual(Self.unhashed) }

    /// `root` without the kernel's suffix for an invalidated entry.
    public var shownPath: [UInt8] {
        let isInvalidated = !hasStableNames && root.suffix(Self.unhashed.count).elementsEqual(Self.unhashed)
        return isInvalidated ? Array(root.dropLast(Self.unhashed.count)) : root
    }
}
