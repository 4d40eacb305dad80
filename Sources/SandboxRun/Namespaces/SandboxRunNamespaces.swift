import Glibc
import LinuxSystem

/// The namespaces of users and mounts in which all is covered.
enum SandboxRunNamespaces {
    static func enterFirst() throws(SandboxRunFailure) {
        let (uid, gid) = (geteuid(), getegid())
        do throws(Errno) {
            try Syscall.chdir("/")
            // The kernel refuses it under a changed root, around which there may be mounts that stand in no table here.
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount)
            try Syscall.mapOnly(uid: uid, gid: gid)
            // What is mounted outside from now on stays outside.
            try Syscall.mount(
                source: nil, target: "/", type: nil, flags: MountFlag.recursive | MountFlag.makePrivate)
        } catch { throw NamespaceSettings.failure("cannot make namespaces", error) }
    }
}
