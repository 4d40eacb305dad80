import CLinux

/// A seccomp filter against three things that ioctl(2) gives to who has no privileges.
///
/// Input for a terminal that others read from: that a process has another session does not keep it from that, since a terminal
/// that is nobody's controlling one becomes its own by TIOCSCTTY. And a snapshot of a subvolume of btrfs, which the kernel makes for
/// the owner of the subvolume's top, whatever is mounted in it: what is covered lies uncovered in the snapshot. And the end of a subvolume,
/// which takes what is mounted in it along, covers too (with `user_subvol_rm_allowed`).
public enum RequestFilter {
    /// From here on TIOCSTI (types a byte), TIOCLINUX (pastes on a console), BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_DESTROY and their
    /// second versions are refused with EPERM to this process and to all that it starts, whatever kind of program; everything else stays
    /// allowed. The program of the filter is in requests.c.
    ///
    /// To be called before any thread is started, after `giveUpPrivileges`. Errors: nosys or inval if the kernel has no such
    /// filters, whatever a filter around this process says if there is one.
    public static func install() throws(Errno) { try value(aclfs_filter_requests()) }
}
