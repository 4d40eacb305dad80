import Glibc
import LinuxSystem

/// The user and mount namespace in which the paths are hidden.
enum SandboxRunNamespaces {
    /// - Throws: the kernel refuses the namespaces.
    static func enterFirst() throws(SandboxRunFailure) {
        let (uid, gid) = (geteuid(), getegid())
        do throws(Errno) {
            try Syscall.chdir("/")
            // The kernel refuses it under a changed root (chroot), whose mount table may be incomplete.
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount)
            try Syscall.mapOnly(uid: uid, gid: gid)
            // No later mount of outside propagates into it.
            try Syscall.mount(
                source: nil, target: "/", type: nil, flags: MountFlag.recursive | MountFlag.makePrivate)
        } catch { throw NamespaceSettings.failure("cannot make a user and a mount namespace", error) }
    }
}
