import CFuseTransport

/// Runs what a handler may have to wait for: locks held for long, disks, other programs. Requests that come meanwhile are served by
/// other threads. Costs two mutexes; not for what takes microseconds.
public func waiting<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    aclfs_transport_block()
    defer { aclfs_transport_unblock() }
    return try body()
}

/// Runs what hardly ever waits, but then perhaps for long. Costs next to nothing while another thread waits for requests.
public func perhapsWaiting<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    aclfs_transport_block_lightly()
    defer { aclfs_transport_unblock_lightly() }
    return try body()
}
