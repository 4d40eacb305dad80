import CKeeper
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// What a daemon of root, its keeper and all that they ever run may not do any more (docs/reference/security.md "Containment").
enum Containment {
    /// The capabilities that serving needs, by their numbers in capabilities(7), with what needs them.
    private static let needed: [(number: UInt64, use: String)] = [
        (0, "CAP_CHOWN: owners of new objects"), (1, "CAP_DAC_OVERRIDE: what the backing modes refuse"),
        (2, "CAP_DAC_READ_SEARCH: file handles"), (3, "CAP_FOWNER: modes and times of others' objects"),
        (4, "CAP_FSETID: set-id bits"), (6, "CAP_SETGID: groups of threads that act for a user"),
        (7, "CAP_SETUID: root's reserve"), (8, "CAP_SETPCAP: dropping others"),
        (9, "CAP_LINUX_IMMUTABLE: flags of the backing file system"),
        (14, "CAP_IPC_LOCK: rings"), (18, "CAP_SYS_CHROOT: mount namespaces"), (19, "CAP_SYS_PTRACE: callers' namespaces and groups"),
        (21, "CAP_SYS_ADMIN: mounting, passthrough, trusted.* and security.*"),
        (27, "CAP_MKNOD: devices"), (28, "CAP_LEASE: whether a file is open"), (31, "CAP_SETFCAP: security.capability"),
        (33, "CAP_MAC_ADMIN: labels"),
    ]

    /// Call before any thread starts, and before the process is split. An ordinary user's daemon has no capabilities, and unmounts by a set-id
    /// program.
    /// - Throws: the kernel does not let it.
    static func enter() throws(MountFailure) {
        guard geteuid() == 0 else { return }
        let result = aclfs_contain(needed.reduce(0) { $0 | 1 << $1.number })
        // Without CAP_SETPCAP nothing is given up, and `RootReserve` refuses the mount.
        if result == 0 || result == -EPERM { return }
        throw MountFailure(status: MountExit.systemError, message: "cannot give up capabilities: \(Errno(rawValue: -result))")
    }
}
