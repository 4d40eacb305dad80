import CLinux
import Glibc

/// The kernel's connections of FUSE mounts, each known by the minor number of its mount's device (fusectl).
public struct FuseConnections: Sendable {
    private let directory: SharedDescriptor

    /// Errors: perm where fusectl is not mounted and this process may not mount it; access where it belongs to others.
    public init() throws(Errno) { directory = SharedDescriptor(rawValue: try value(aclfs_fuse_connections())) }

    /// What tells a connection from a later one, whose mount may get the same device: as long as this value lives. nil if there is none;
    /// else its mount stands somewhere, or something of it is held.
    public func identity(of device: UInt64) -> UInt64? {
        (try? Syscall.statxAt(directory.rawValue, Self.name(device)))?.inode
    }

    /// Ends it: all requests fail, those under way too, whatever the server does. Only root and who mounted may.
    public func abort(_ device: UInt64) throws(Errno) {
        let file = try Syscall.openat(directory.rawValue, "\(Self.name(device))/abort", OpenFlag.writeOnly)
        var word = UInt8(ascii: "1")
        if Glibc.write(file.rawValue, &word, 1) < 0 { throw Errno(rawValue: errno) }
    }

    private static func name(_ device: UInt64) -> String { "\(device & 0xFFFF_FFFF)" }
}
