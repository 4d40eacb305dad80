import CFuseTransport

/// Runs code for which a handler may wait: locks held for long, disks, other programs. Other threads serve requests
/// meanwhile. It costs two mutexes, too much for code of some microseconds.
public func waiting<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    aclfs_transport_block()
    defer { aclfs_transport_unblock() }
    return try body()
}

/// Runs code that rarely waits, but then perhaps long. It costs nearly nothing while another thread waits for
/// requests.
public func perhapsWaiting<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    aclfs_transport_block_lightly()
    defer { aclfs_transport_unblock_lightly() }
    return try body()
}

/// Whether all threads that serve a mount are at work, so that requests may wait for this one.
public var othersWait: Bool { aclfs_transport_others_wait() }
