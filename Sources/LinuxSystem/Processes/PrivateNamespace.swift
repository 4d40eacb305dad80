import CLinux

extension Syscall {
    /// Attaches a mount that is attached nowhere beneath the topmost mount on a path. Errors: inval before Linux 6.5, and where
    /// mounts propagate in a way that forbids it.
    public static func attach(mount: Int32, beneath place: String) throws(Errno) {
        try value(aclfs_attach_beneath(mount, place))
    }

    /// umount2(2) of the mount of whose top a descriptor is, wherever that stands. Errors: inval if it is no top of a mount.
    public static func unmount(of top: Int32, flags: Int32) throws(Errno) { try value(aclfs_umount_of(top, flags)) }
}

/// A copy of the mount namespace in which something can be looked at without a change here.
public enum PrivateNamespace {
    /// Runs `body` on a thread of its own, for which the copy is made, and waits for the end of both. Only that thread sees the copy;
    /// /proc/thread-self is its own, /proc/self is not.
    /// - Throws: perm without CAP_SYS_ADMIN, inval if changes in the copy would propagate to here.
    public static func visit<Value: Sendable>(
        _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let outcome = Lock<Result<Value, Errno>?>(nil)
        let thread = try Thread.start(name: "aclfs-namespace") {
            do throws(Errno) {
                // Its working directory and root become its own, too.
                try Syscall.unshare(NamespaceKind.mount)
                try Syscall.mount(
                    source: nil, target: "/", type: nil, flags: MountFlag.makePrivate | MountFlag.recursive)
                let value = try body()
                outcome.withLock { $0 = .success(value) }
            } catch { outcome.withLock { $0 = .failure(error) } }
        }
        thread.join()
        guard let result = outcome.withLock({ $0 }) else { throw .io }
        return try result.get()
    }
}
