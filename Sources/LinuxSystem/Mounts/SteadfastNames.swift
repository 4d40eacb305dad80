extension MountInfo {
    private static let steadfast: Set<String> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "f2fs", "jfs", "nilfs2", "reiserfs", "ubifs", "jffs2", "tmpfs",
        "ramfs", "devtmpfs", "rootfs", "overlay", "squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf", "vfat", "msdos", "exfat",
        "ntfs3", "hfs", "hfsplus", "proc", "sysfs", "devpts", "mqueue", "hugetlbfs", "cgroup", "cgroup2", "securityfs", "debugfs",
        "tracefs", "configfs", "fusectl", "bpf", "pstore", "efivarfs", "binfmt_misc", "nsfs", "selinuxfs",
    ]

    /// Whether the names of its file system stay as long as nobody here changes them. Others ask at a look-up whether a name still
    /// means the same (FUSE, and all that lie on other machines): when it does not, or a revocation of ours says so, the kernel takes
    /// away what is mounted on it, in all namespaces. What is not known counts as one of those.
    public var isSteadfast: Bool { Self.steadfast.contains(String(decoding: type, as: UTF8.self)) }

    private static let unhashed = Array("//deleted".utf8)

    /// Whether what it shows was removed from its file system. Where names do not stay the kernel says the same of one that it has
    /// merely dropped.
    public var isRemoved: Bool { isSteadfast && root.suffix(Self.unhashed.count).elementsEqual(Self.unhashed) }

    /// `root`, where it lies or lay.
    public var shownPath: [UInt8] {
        let isDropped = !isSteadfast && root.suffix(Self.unhashed.count).elementsEqual(Self.unhashed)
        return isDropped ? Array(root.dropLast(Self.unhashed.count)) : root
    }
}
