import LinuxSystem

/// The number by which the kernel knows an object, from the reply that introduced it until it is forgotten.
public struct NodeID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(rawValue, seed: seed) }

    /// The root of the mount; the kernel never looks it up and never forgets it.
    public static let root = NodeID(1)
}

/// The number that an open reply gave to a handle, valid until its release.
public struct HandleID: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(rawValue, seed: seed) }
}

/// Who asks. Only a part of a credential: the kernel sends no supplementary groups.
public struct Caller: Equatable, Sendable {
    /// The file system user id (fsuid) in force for the call.
    public var uid: UInt32
    /// The file system group id (fsgid).
    public var gid: UInt32
    /// The thread, not the process; 0 if the kernel asks by itself.
    public var tid: UInt32
    /// Meaningful when something is created; 0 otherwise. Not yet applied to the mode.
    public var umask: UInt32
    /// The number of the request, unique on one connection; 0 = none.
    public var request: UInt64

    public init(uid: UInt32, gid: UInt32, tid: UInt32, umask: UInt32 = 0, request: UInt64 = 0) {
        self.uid = uid
        self.gid = gid
        self.tid = tid
        self.umask = umask
        self.request = request
    }
}
