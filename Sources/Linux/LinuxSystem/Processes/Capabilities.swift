import CLinux

/// Capabilities that the daemon drops, and those that it needs to drop them.
public enum Capability {
    /// Use of reserved blocks, beyond quotas and other limits.
    public static let systemResource = aclfs_CAP_SYS_RESOURCE
    /// Another file-system user id.
    public static let setUserID = aclfs_CAP_SETUID
    /// Dropping capabilities for good.
    public static let setCapabilities = aclfs_CAP_SETPCAP
}

extension Syscall {
    /// Whether the calling thread may use the capability now.
    public static func hasCapability(_ capability: Int32) -> Bool { aclfs_has_capability(capability) == 1 }

    /// Drops a capability of the calling thread for good: effective, permitted, inheritable, bounding, ambient. Call it before any
    /// thread is started.
    /// - Throws: perm without CAP_SETPCAP.
    public static func dropCapability(_ capability: Int32) throws(Errno) {
        try value(aclfs_drop_capability(capability))
    }

    /// Gives up CAP_FSETID of the calling thread until its next call that may need it (`setid.h`).
    /// - Throws: an errno of capset(2).
    public static func lowerSetIDCapability() throws(Errno) { try value(aclfs_lower_set_id()) }
}
