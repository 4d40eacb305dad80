import CLinux

/// Capabilities that the daemon gives up, and those that it needs for that.
public enum Capability {
    /// Use of reserved blocks, and freedom from quotas and other limits.
    public static let systemResource = aclfs_CAP_SYS_RESOURCE
    /// Another file-system user id.
    public static let setUserID = aclfs_CAP_SETUID
    /// Giving capabilities up for good.
    public static let setCapabilities = aclfs_CAP_SETPCAP
}

extension Syscall {
    /// Whether the calling thread may use it now.
    public static func hasCapability(_ capability: Int32) -> Bool { aclfs_has_capability(capability) == 1 }

    /// Takes a capability from the calling thread for good: effective, permitted, inheritable, bounding, ambient.
    /// To be called before any thread is started. Errors: perm without CAP_SETPCAP.
    public static func dropCapability(_ capability: Int32) throws(Errno) {
        try value(aclfs_drop_capability(capability))
    }
}
