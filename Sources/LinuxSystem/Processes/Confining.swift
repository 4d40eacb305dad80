import CLinux

/// Kinds of namespaces, as unshare(2) takes them.
public enum NamespaceKind {
    public static let mount = aclfs_CLONE_NEWNS
    public static let user = aclfs_CLONE_NEWUSER
    public static let process = aclfs_CLONE_NEWPID
    public static let ipc = aclfs_CLONE_NEWIPC
}

extension Syscall {
    /// Before any thread is started. Errors: perm or nospc where a setting forbids it.
    public static func unshare(_ namespaces: Int32) throws(Errno) { try value(aclfs_unshare(namespaces)) }

    /// In a user namespace just made: nobody but the caller is known in it, by the number that he has outside.
    public static func mapOnly(uid: UInt32, gid: UInt32) throws(Errno) {
        // Without it an ordinary user may not map his group; groups stay as they are.
        try write(path: "/proc/self/setgroups", "deny")
        try write(path: "/proc/self/uid_map", "\(uid) \(uid) 1")
        try write(path: "/proc/self/gid_map", "\(gid) \(gid) 1")
    }

    /// How many namespaces of a kind there may be in this user namespace and in those within it, in each of which the
    /// limits of all around it count. Nothing where the kernel has none of the kind.
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

    /// As `cloneMount`, with what is mounted below.
    public static func cloneTree(_ directory: Int32) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_clone_tree(directory)))
    }

    /// Attaches a mount that is attached nowhere onto the object of any descriptor.
    public static func attach(mount: Int32, onto place: Int32) throws(Errno) {
        try value(aclfs_attach_mount(mount, place))
    }

    /// A new tmpfs, attached nowhere: to be filled, or for ever empty.
    public static func smallMount(isWritable: Bool) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(rawValue: try value(aclfs_small_mount(isWritable ? 1 : 0)))
    }

    /// On a mount, of whose top the descriptor is, and all below; those that are attached later decide for themselves. Errors: nosys
    /// before Linux 5.12.
    public static func forbidDevices(on mount: Int32) throws(Errno) { try value(aclfs_forbid_devices(mount)) }

    /// On that mount alone. Errors: perm if they were forbidden before this namespace was made.
    public static func allowDevices(on mount: Int32) throws(Errno) { try value(aclfs_allow_devices(mount)) }

    /// Before any thread is started. 0 in the new process.
    public static func fork() throws(Errno) -> Int32 { try value(aclfs_fork()) }

    /// The signal that this process gets when its parent ends; 0 for none.
    public static func endWithParent(_ signal: Int32) throws(Errno) { try value(aclfs_end_with_parent(signal)) }

    /// Nobody of the same user traces this process or looks into its /proc.
    public static func hideProcess() throws(Errno) { try value(aclfs_hide_process()) }

    /// No capability in any set and no way to one, for good.
    public static func giveUpPrivileges() throws(Errno) { try value(aclfs_give_up_privileges()) }

    /// Errors: nosys where the kernel keeps no keys.
    public static func newSessionKeyring() throws(Errno) { try value(aclfs_new_session_keyring()) }

    /// Points the standard descriptors at /dev/null.
    public static func silence() throws(Errno) { try value(aclfs_silence(0)) }

    /// Closes this one and all above.
    public static func closeAll(from first: UInt32) throws(Errno) { try value(aclfs_close_from(first)) }

    /// How a descriptor was opened. Errors: badf.
    public static func openFlags(of descriptor: Int32) throws(Errno) -> Int32 {
        try value(aclfs_descriptor_flags(descriptor))
    }
}
