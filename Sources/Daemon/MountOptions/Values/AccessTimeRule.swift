/// What a mount says of access times: `noatime`, `nodiratime`, `relatime`, `strictatime` (docs/reference/mounting.md "Access times").
public struct AccessTimeRule: Equatable, Sendable {
    /// When reading moves the access time of what is read.
    public enum Files: Sendable {
        /// As the backing file system is mounted.
        case asBelow
        case never
        case relative
        case strict
    }
    public var files = Files.asBelow
    /// `nodiratime`.
    public var leavesDirectories = false

    public init() {}

    /// By the mount's flags as the mount table has them.
    /// - Parameter options: those of the mount, not of its file system.
    public init(mountTable options: [String]) {
        files = options.contains("noatime") ? .never : options.contains("relatime") ? .relative : .strict
        leavesDirectories = options.contains("nodiratime")
    }
}
