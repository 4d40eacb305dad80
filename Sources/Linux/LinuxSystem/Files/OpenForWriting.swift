import CLinux

extension Syscall {
    /// Whether any process has a regular file open for writing, or mapped through a descriptor that could write: this process,
    /// another one, or the kernel for a stacked file system.
    /// - Throws: inval where the file system has no leases, acces without CAP_LEASE for another user's file.
    public static func isOpenForWriting(_ descriptor: Int32) throws(Errno) -> Bool {
        try value(aclfs_is_open_for_writing(descriptor)) != 0
    }

    /// Keeps a regular file from being written: as long as the result is open, who opens the file for writing or truncates it waits. For commands only,
    /// for a moment.
    /// - Throws: again if a process has it open for writing, inval where the file system has no leases, acces without CAP_LEASE for another
    ///   user's file.
    public static func keepFromWriting(_ descriptor: Int32) throws(Errno) -> SharedDescriptor {
        SharedDescriptor(rawValue: try value(aclfs_keep_from_writing(descriptor)))
    }
}
