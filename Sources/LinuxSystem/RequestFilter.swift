import CLinux

/// A seccomp filter against input for a terminal that others read from. That a process has another session does not keep it
/// from that: a terminal that is nobody's controlling one becomes its own by TIOCSCTTY.
public enum TerminalFilter {
    /// From here on TIOCSTI (types a byte) and TIOCLINUX (pastes on a console) are refused with EPERM to this process and to all
    /// that it starts, whatever kind of program; everything else stays allowed. The program of the filter is in terminal.c.
    ///
    /// To be called before any thread is started, after `giveUpPrivileges`. Errors: nosys or inval if the kernel has no such
    /// filters, whatever a filter around this process says if there is one.
    public static func install() throws(Errno) { try value(aclfs_forbid_typing()) }
}
