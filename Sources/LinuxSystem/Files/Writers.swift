import CLinux

extension Syscall {
    /// Whether anybody at all has a regular file open for writing, or mapped through a descriptor that could write: this
    /// process, others, the kernel on behalf of a stacked file system.
    /// - Errors: inval where the file system gives no leases, acces without CAP_LEASE on the files of others.
    public static func isOpenForWriting(_ descriptor: Int32) throws(Errno) -> Bool {
        try value(aclfs_is_open_for_writing(descriptor)) != 0
    }
}
