import CLinux

extension Syscall {
    /// Attaches a detached mount beneath the topmost mount on a path.
    /// - Throws: inval before Linux 6.5, and where the propagation of mounts forbids it.
    public static func attach(mount: Int32, beneath place: String) throws(Errno) {
        try value(aclfs_attach_beneath(mount, place))
    }

    /// umount2(2) of the mount of a descriptor, wherever it is attached.
    /// - Throws: inval if the descriptor is not the root of a mount.
    public static func unmount(of top: Int32, flags: Int32) throws(Errno) { try value(aclfs_umount_of(top, flags)) }
}

/// A copy of the mount namespace, in which code can inspect and change mounts without a change in this one.
public enum PrivateNamespace {
    /// Runs `body` on a thread of its own in a copy of the namespace, and waits for its end. Only this thread uses the copy;
    /// /proc/thread-self is in it, /proc/self is not.
    /// - Throws: perm without CAP_SYS_ADMIN, inval if changes in the copy would propagate.
    public static func visit<Value: Sendable>(
        _ body: @escaping @Sendable () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let outcome = Lock<Result<Value, Errno>?>(nil)
        let thread = try Thread.start(name: "aclfs-namespace") {
            do throws(Errno) {
                // The thread gets its own working directory and root, too.
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
