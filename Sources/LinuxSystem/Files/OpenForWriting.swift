import CLinux

extension Syscall {
    /// Whether any process has a regular file open for writing, or mapped through a descriptor that could write: this process,
    /// another one, or the kernel for a stacked file system.
    /// - Throws: inval where the file system has no leases, acces without CAP_LEASE for another user's file.
    public static func isOpenForWriting(_ descriptor: Int32) throws(Errno) -> Bool {
        try value(aclfs_is_open_for_writing(descriptor)) != 0
    }
}
