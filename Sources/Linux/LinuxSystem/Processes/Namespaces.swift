import CLinux

/// Kinds of namespaces, as for unshare(2).
public enum NamespaceKind {
    public static let mount = aclfs_CLONE_NEWNS
    public static let user = aclfs_CLONE_NEWUSER
    public static let process = aclfs_CLONE_NEWPID
    public static let ipc = aclfs_CLONE_NEWIPC
}

extension Syscall {
    /// Call it before any thread is started.
    /// - Throws: perm or nospc where a setting forbids it.
    public static func unshare(_ namespaces: Int32) throws(Errno) { try value(aclfs_unshare(namespaces)) }

    /// Maps only the caller's ids into a new user namespace, to the same numbers.
    public static func mapOnly(uid: UInt32, gid: UInt32) throws(Errno) {
        // An ordinary user may map a group only without setgroups(2); groups stay as they are.
        try write(path: "/proc/self/setgroups", "deny")
        try write(path: "/proc/self/uid_map", "\(uid) \(uid) 1")
        try write(path: "/proc/self/gid_map", "\(gid) \(gid) 1")
    }

    /// Limits the number of namespaces of a kind in this user namespace and in those within it. The limits of all outer namespaces
    /// apply too. Without effect where the kernel lacks the kind.
    public static func limitNamespaces(_ kind: String, to most: Int) throws(Errno) {
        do throws(Errno) { try write(path: "/proc/sys/user/max_\(kind)_namespaces", "\(most)") } catch {
            if error != .noent { throw error }
        }
    }

    private static func write(path: String, _ text: String) throws(Errno) {
        let file = try open(path, aclfs_O_WRONLY)
        var bytes = Array(text.utf8)
        let count = Int64(bytes.count)
        guard try value(aclfs_write(file.rawValue, &bytes, UInt64(count))) == count else { throw .io }
    }

    /// As `cloneMount`, with the mounts below it.
    public static func cloneTree(_ directory: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_clone_tree(directory)))
    }

    /// Attaches a detached mount onto the object of any descriptor.
    public static func attach(mount: Int32, onto place: Int32) throws(Errno) {
        try value(aclfs_attach_mount(mount, place))
    }

    /// A new detached tmpfs: writable, or empty and read-only.
    public static func smallMount(isWritable: Bool) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_small_mount(isWritable ? 1 : 0)))
    }

    /// Forbids opening devices on a mount and all mounts below it; mounts attached later have their own setting.
    /// - Parameter mount: a descriptor of its root.
    /// - Throws: nosys before Linux 5.12.
    public static func forbidDevices(on mount: Int32) throws(Errno) { try value(aclfs_forbid_devices(mount)) }

    /// Allows opening devices on this mount only.
    /// - Throws: perm if they were forbidden outside this namespace.
    public static func allowDevices(on mount: Int32) throws(Errno) { try value(aclfs_allow_devices(mount)) }

    /// Call it before any thread is started.
    /// - Returns: 0 in the new process.
    public static func fork() throws(Errno) -> Int32 { try value(aclfs_fork()) }

    /// The signal that this process gets when its parent ends; 0 for none.
    public static func endWithParent(_ signal: Int32) throws(Errno) { try value(aclfs_end_with_parent(signal)) }

    /// Processes of the same user can no longer trace this process or read its /proc directory.
    public static func hideProcess() throws(Errno) { try value(aclfs_hide_process()) }

    /// Drops all capabilities and each way to get one, for good.
    public static func giveUpPrivileges() throws(Errno) { try value(aclfs_give_up_privileges()) }

    /// - Throws: nosys where the kernel has no keyrings.
    public static func newSessionKeyring() throws(Errno) { try value(aclfs_new_session_keyring()) }

    /// Points the standard descriptors at /dev/null.
    public static func silence() throws(Errno) { try value(aclfs_silence(0)) }

    /// Closes this descriptor and all above it.
    public static func closeAll(from first: UInt32) throws(Errno) { try value(aclfs_close_range(first, UInt32.max)) }

    /// The flags with which a descriptor was opened.
    /// - Throws: badf.
    public static func openFlags(of descriptor: Int32) throws(Errno) -> Int32 {
        try value(aclfs_descriptor_flags(descriptor))
    }
}
