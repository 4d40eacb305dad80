import CLinux

/// Flags of open(2). O_CLOEXEC is always added by `Syscall`.
public enum OpenFlag {
    public static let readOnly = aclfs_O_RDONLY
    public static let writeOnly = aclfs_O_WRONLY
    public static let readWrite = aclfs_O_RDWR
    public static let accessMask = aclfs_O_ACCMODE
    public static let create = aclfs_O_CREAT
    public static let exclusive = aclfs_O_EXCL
    public static let noControllingTerminal = aclfs_O_NOCTTY
    public static let truncate = aclfs_O_TRUNC
    public static let append = aclfs_O_APPEND
    public static let nonBlock = aclfs_O_NONBLOCK
    public static let dataSync = aclfs_O_DSYNC
    public static let sync = aclfs_O_SYNC
    public static let direct = aclfs_O_DIRECT
    public static let directory = aclfs_O_DIRECTORY
    public static let noFollow = aclfs_O_NOFOLLOW
    public static let noAccessTime = aclfs_O_NOATIME
    public static let closeOnExec = aclfs_O_CLOEXEC
    public static let path = aclfs_O_PATH
    public static let temporaryFile = aclfs_O_TMPFILE
}

/// Flags of the *at calls.
public enum AtFlag {
    public static let symlinkNoFollow = aclfs_AT_SYMLINK_NOFOLLOW
    public static let removeDirectory = aclfs_AT_REMOVEDIR
    public static let noAutomount = aclfs_AT_NO_AUTOMOUNT
    public static let emptyPath = aclfs_AT_EMPTY_PATH
    public static let forceSync = aclfs_AT_STATX_FORCE_SYNC
    public static let dontSync = aclfs_AT_STATX_DONT_SYNC
}

/// Flags of renameat2(2).
public enum RenameFlag {
    public static let noReplace = aclfs_RENAME_NOREPLACE
    public static let exchange = aclfs_RENAME_EXCHANGE
    public static let whiteout = aclfs_RENAME_WHITEOUT
}

/// Modes of fallocate(2).
public enum AllocateFlag {
    public static let keepSize = aclfs_FALLOC_KEEP_SIZE
    public static let punchHole = aclfs_FALLOC_PUNCH_HOLE
    public static let zeroRange = aclfs_FALLOC_ZERO_RANGE
}

/// The type bits of a mode.
public enum FileType {
    public static let mask = aclfs_S_IFMT
    public static let socket = aclfs_S_IFSOCK
    public static let symlink = aclfs_S_IFLNK
    public static let regular = aclfs_S_IFREG
    public static let blockDevice = aclfs_S_IFBLK
    public static let directory = aclfs_S_IFDIR
    public static let characterDevice = aclfs_S_IFCHR
    public static let fifo = aclfs_S_IFIFO
}

/// The start of the count in lseek(2).
public enum Seek {
    public static let set = aclfs_SEEK_SET
    public static let current = aclfs_SEEK_CUR
    public static let end = aclfs_SEEK_END
    public static let data = aclfs_SEEK_DATA
    public static let hole = aclfs_SEEK_HOLE
}

/// Flags of setxattr(2).
public enum XattrFlag {
    public static let create = aclfs_XATTR_CREATE
    public static let replace = aclfs_XATTR_REPLACE
}

/// The fields that statx(2) returns.
public enum StatMask {
    public static let basic = aclfs_STATX_BASIC_STATS
    public static let changeTime = aclfs_STATX_CTIME
    public static let birthTime = aclfs_STATX_BTIME
    public static let mountID = aclfs_STATX_MNT_ID
    public static let all = basic | birthTime | mountID
}

/// Flags of mount(2).
public enum MountFlag {
    public static let readOnly = aclfs_MS_RDONLY
    public static let noSetID = aclfs_MS_NOSUID
    public static let noDevices = aclfs_MS_NODEV
    public static let noExec = aclfs_MS_NOEXEC
    public static let synchronous = aclfs_MS_SYNCHRONOUS
    public static let remount = aclfs_MS_REMOUNT
    public static let synchronousDirectories = aclfs_MS_DIRSYNC
    public static let noAccessTime = aclfs_MS_NOATIME
    public static let noDirectoryAccessTime = aclfs_MS_NODIRATIME
    public static let bind = aclfs_MS_BIND
    public static let move = aclfs_MS_MOVE
    public static let recursive = aclfs_MS_REC
    public static let makePrivate = aclfs_MS_PRIVATE
    public static let relativeAccessTime = aclfs_MS_RELATIME
    public static let strictAccessTime = aclfs_MS_STRICTATIME
    public static let noSymlinkFollow = aclfs_MS_NOSYMFOLLOW
}

/// When reading through a mount updates access times (mount(8): relatime, noatime, strictatime).
public enum MountAccessTimes: Int32, Sendable {
    case relative = 0
    case never = 1
    case strict = 2
}

/// Flags of umount2(2).
public enum UnmountFlag {
    public static let force = aclfs_MNT_FORCE
    public static let detach = aclfs_MNT_DETACH
    public static let noFollow = aclfs_UMOUNT_NOFOLLOW
}

/// Bits of FS_IOC_GETFLAGS.
public enum InodeFlag {
    public static let immutable = aclfs_FS_IMMUTABLE_FL
    public static let append = aclfs_FS_APPEND_FL
    public static let noDump = aclfs_FS_NODUMP_FL
}

/// Bits of FS_IOC_FSGETXATTR.
public enum InodeXFlag {
    public static let immutable = aclfs_FS_XFLAG_IMMUTABLE
    public static let append = aclfs_FS_XFLAG_APPEND
    public static let noDump = aclfs_FS_XFLAG_NODUMP
}

/// Magic numbers of file systems with special treatment.
public enum FileSystemType {
    public static let ext4: UInt64 = 0xEF53
    public static let tmpfs: UInt64 = 0x0102_1994
    public static let overlay: UInt64 = 0x794C_7630
    public static let fuse: UInt64 = 0x6573_5546
    public static let nfs: UInt64 = 0x6969
    public static let ceph: UInt64 = 0x00C3_6400
    public static let ninePFS: UInt64 = 0x0102_1997
    public static let xfs: UInt64 = 0x5846_5342
    public static let btrfs: UInt64 = 0x9123_683E
    /// Namespaces, which can be bind-mounted.
    public static let nsfs: UInt64 = 0x6E73_6673

    /// Types with objects of other device numbers than their mount has in the mount table, because subvolumes and layers have their
    /// own; with their names there.
    public static let ofManyDevices = [btrfs: "btrfs", overlay: "overlay"]

    /// Types with files that show or control processes or FUSE mounts; with their names in the mount table.
    public static let ofControls: [UInt64: String] = [0x9FA0: "proc", 0x27_E0EB: "cgroup", 0x6367_7270: "cgroup2", 0x6573_5543: "fusectl"]
}
