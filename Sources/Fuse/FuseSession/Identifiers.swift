import LinuxSystem

/// The number by which the kernel knows an object, from the first reply with it until the kernel forgets it.
public struct NodeID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(rawValue, seed: seed) }

    /// The root of the mount. The kernel never looks it up and never forgets it.
    public static let root = NodeID(1)
}

/// The number of a handle, from the reply to OPEN until RELEASE.
public struct HandleID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(rawValue, seed: seed) }
}

/// The caller of a request: a part of a credential, because the kernel sends no supplementary groups.
public struct Caller: Equatable, Sendable {
    /// The file system user id (fsuid) in force for the call.
    public var uid: UInt32
    /// The file system group id (fsgid).
    public var gid: UInt32
    /// The thread, not the process; 0 for a request of the kernel itself.
    public var tid: UInt32
    /// Valid for creations, and not yet applied to the mode; otherwise 0.
    public var umask: UInt32
    /// The number of the request, unique on one connection; 0 = none.
    public var request: UInt64
    /// Whether the ids stand for root's, as the handler says. The kernel knows the thread as root, and the thread's groups do not count.
    public var isSquashed = false

    public init(uid: UInt32, gid: UInt32, tid: UInt32, umask: UInt32 = 0, request: UInt64 = 0) {
        self.uid = uid
        self.gid = gid
        self.tid = tid
        self.umask = umask
        self.request = request
    }
}

/// The ids that stand for root on a mount.
public struct SquashedRoot: Equatable, Sendable {
    public var uid: UInt32
    public var gid: UInt32
    public init(uid: UInt32, gid: UInt32) { (self.uid, self.gid) = (uid, gid) }
}
