import CLinux

/// Capabilities that the daemon gives up.
public enum Capability {
    /// Use of reserved blocks, and freedom from quotas and other limits.
    public static let systemResource = aclfs_CAP_SYS_RESOURCE
}

extension Syscall {
    /// Takes a capability from the calling thread for good: effective, permitted, inheritable, bounding, ambient.
    /// To be called before any thread is started. Errors: perm without CAP_SETPCAP.
    public static func dropCapability(_ capability: Int32) throws(Errno) {
        try value(aclfs_drop_capability(capability))
    }
}
