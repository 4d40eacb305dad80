/// A location that the user chose for an application: the guide's "user-selected" files and folders.
public struct Grant: Sendable, Hashable {
    /// The application's bundle identifier.
    public var bundle: String
    /// Names from the mount's root. Without an `object` the grant applies to the place, whatever object is there.
    public var path: [[UInt8]]
    /// false: this object only, and nothing below it.
    public var isDirectory: Bool
    public var access: EntitledAccess
    /// The time from which on it is invalid, in seconds since 1970; nil = never.
    public var expires: Int64?
    /// The object that the grant follows. It is in force only where the object is, and `path` says where it was last.
    public var object: FollowedObject?

    public init(
        bundle: String, path: [[UInt8]], isDirectory: Bool, access: EntitledAccess, expires: Int64? = nil, object: FollowedObject? = nil
    ) {
        self.bundle = bundle
        self.path = path
        self.isDirectory = isDirectory
        self.access = access
        self.expires = expires
        self.object = object
    }

    /// Whether it is valid at a time, in seconds since 1970.
    public func isValid(at time: Int64) -> Bool { expires.map { time < $0 } ?? true }
}
