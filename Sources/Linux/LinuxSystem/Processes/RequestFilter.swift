import CLinux

/// A seccomp filter for three kinds of ioctl(2) that need no privilege.
///
/// Input for a terminal of other processes: a new session does not prevent it, because TIOCSCTTY makes a free terminal the
/// controlling one. A snapshot of a btrfs subvolume: its owner may make one, and paths that mounts hide are visible in it. The
/// deletion of a subvolume (`user_subvol_rm_allowed`), which detaches the mounts in it.
public enum RequestFilter {
    /// Refuses TIOCSTI (types a byte), TIOCLINUX (pastes on a console), BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_DESTROY and their
    /// second versions with EPERM, in this process and all that it starts, for every ABI. requests.c has the program of the filter.
    ///
    /// Call it before any thread is started, after `giveUpPrivileges`.
    /// - Throws: nosys or inval if the kernel has no such filters, or the error of an outer filter.
    public static func install() throws(Errno) { try value(aclfs_filter_requests()) }
}
