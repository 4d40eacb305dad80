/// A location that the user indicated for an application: the guide's "user-selected" files and folders.
public struct Grant: Sendable, Hashable {
    /// The application's bundle identifier.
    public var bundle: String
    /// Names from the mount's top; what it reaches is the place, whatever stands there.
    public var path: [[UInt8]]
    /// Without: this one object and nothing below it.
    public var isDirectory: Bool
    public var access: EntitledAccess
    /// Seconds since 1970 from which on it counts no more; nil for never.
    public var expires: Int64?

    public init(
        bundle: String, path: [[UInt8]], isDirectory: Bool, access: EntitledAccess, expires: Int64? = nil
    ) {
        self.bundle = bundle
        self.path = path
        self.isDirectory = isDirectory
        self.access = access
        self.expires = expires
    }

    public func counts(at time: Int64) -> Bool { expires.map { time < $0 } ?? true }
}
