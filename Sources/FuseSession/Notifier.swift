import CFuseShim

/// Takes back what the kernel was told. Each returns an errno, 0 for success; ENOENT says that the kernel did not know
/// the object, ENOSYS that it cannot do it.
public struct Notifier: Sendable {
    let channel: Channel

    /// Never blocks.
    @discardableResult
    public func invalidateAttributes(of node: NodeID) -> Int32 {
        aclfs_fuse_notify_inode(channel.raw, node.rawValue, -1, 0)
    }

    /// Drops attributes and cached data; a `length` of 0 reaches to the end. Blocks while a READ of the node is
    /// unanswered.
    @discardableResult
    public func invalidateContent(of node: NodeID, offset: Int64 = 0, length: Int64 = 0) -> Int32 {
        aclfs_fuse_notify_inode(channel.raw, node.rawValue, max(offset, 0), length)
    }

    /// Drops a name, and unmounts what is mounted on it. Takes the directory's lock: never while a request on that
    /// directory is unanswered.
    @discardableResult
    public func invalidateEntry(_ name: UnsafePointer<CChar>, in parent: NodeID) -> Int32 {
        aclfs_fuse_notify_entry(channel.raw, parent.rawValue, name, false)
    }

    /// Has a name looked up again at its next use. Takes the same lock as `invalidateEntry`.
    @discardableResult
    public func expireEntry(_ name: UnsafePointer<CChar>, in parent: NodeID) -> Int32 {
        aclfs_fuse_notify_entry(channel.raw, parent.rawValue, name, true)
    }

    /// Has every name of the mount looked up again at its next use. Takes no locks, and detaches what is mounted below.
    @discardableResult
    public func increaseEpoch() -> Int32 {
        aclfs_fuse_notify_epoch(channel.raw)
    }

    /// Registers an open file for passthrough: its id (> 0), or -errno. O_PATH is enough.
    public func openBacking(_ descriptor: Int32) -> Int32 {
        aclfs_fuse_backing_open(channel.raw, descriptor)
    }

    @discardableResult
    public func closeBacking(_ id: Int32) -> Int32 {
        aclfs_fuse_backing_close(channel.raw, id)
    }
}
