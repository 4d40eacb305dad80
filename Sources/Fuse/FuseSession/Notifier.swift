import CFuseShim
import LinuxSystem

/// Invalidates the kernel's caches. Each function returns an errno, or 0. ENOENT: the kernel does not know the
/// object. ENOSYS: it lacks the notification.
public struct Notifier: Sendable {
    let channel: Channel

    /// Invalidates attributes. Never blocks.
    @discardableResult
    public func invalidateAttributes(of node: NodeID) -> Int32 {
        aclfs_fuse_notify_inode(channel.raw, node.rawValue, -1, 0)
    }

    /// Invalidates attributes and cached data; a `length` of 0 means to the end. Blocks while a READ of the node is
    /// unanswered.
    @discardableResult
    public func invalidateContent(of node: NodeID, offset: Int64 = 0, length: Int64 = 0) -> Int32 {
        aclfs_fuse_notify_inode(channel.raw, node.rawValue, max(offset, 0), length)
    }

    /// Invalidates an entry, and detaches mounts on it. The kernel takes the directory's lock: do not call it while a
    /// request on that directory is unanswered.
    @discardableResult
    public func invalidateEntry(_ name: UnsafePointer<CChar>, in parent: NodeID) -> Int32 {
        aclfs_fuse_notify_entry(channel.raw, parent.rawValue, name, false)
    }

    /// Expires an entry: the kernel looks it up at its next use. It takes the same lock as `invalidateEntry`.
    @discardableResult
    public func expireEntry(_ name: UnsafePointer<CChar>, in parent: NodeID) -> Int32 {
        aclfs_fuse_notify_entry(channel.raw, parent.rawValue, name, true)
    }

    /// Bumps the epoch: the kernel looks up each entry of the mount at its next use. It takes no locks, and detaches
    /// mounts below.
    @discardableResult
    public func increaseEpoch() -> Int32 {
        aclfs_fuse_notify_epoch(channel.raw)
    }

    /// Registers a backing file descriptor for passthrough; O_PATH is enough.
    ///
    /// The kernel writes to the file with the present privileges of this thread. Without CAP_FSETID the backing file system clears set-id
    /// bits by itself, also those from another mount that this kernel has not read.
    /// - Returns: the backing id (> 0), or -errno.
    public func openBacking(_ descriptor: Int32) -> Int32 {
        do { try Syscall.lowerSetIDCapability() } catch { return -error.rawValue }
        return aclfs_fuse_backing_open(channel.raw, descriptor)
    }

    /// Removes a backing id.
    /// - Returns: an errno, or 0.
    @discardableResult
    public func closeBacking(_ id: Int32) -> Int32 {
        aclfs_fuse_backing_close(channel.raw, id)
    }
}
