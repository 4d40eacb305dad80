import CFuseShim

/// Runs what a handler may have to wait for: locks held for long, disks, other programs. Requests that come meanwhile are served by
/// other threads. Costs two mutexes; not for what takes microseconds.
public func waiting<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    aclfs_fuse_block()
    defer { aclfs_fuse_unblock() }
    return try body()
}
