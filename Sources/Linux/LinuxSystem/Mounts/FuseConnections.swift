import CLinux
import Glibc

/// The kernel's connections of FUSE mounts, named by the minor number of the mount's device (fusectl).
public struct FuseConnections: Sendable {
    private let directory: SharedDescriptor

    /// - Throws: perm where fusectl is not mounted and this process may not mount it; acces where it is another user's.
    public init() throws(Errno) { directory = SharedDescriptor(rawValue: try value(aclfs_fuse_connections())) }

    /// A number that differs from those of later connections with the same device, as long as this value exists. nil if there is no
    /// connection: no mount of it is attached, and nothing of it is in use.
    public func identity(of device: UInt64) -> UInt64? {
        (try? Syscall.statxAt(directory.rawValue, Self.name(device)))?.inode
    }

    /// Aborts the connection: all requests fail, those in flight too, whatever the server does. Only root and the user who mounted
    /// it may.
    public func abort(_ device: UInt64) throws(Errno) {
        let file = try Syscall.openat(directory.rawValue, "\(Self.name(device))/abort", OpenFlag.writeOnly)
        var word = UInt8(ascii: "1")
        if Glibc.write(file.rawValue, &word, 1) < 0 { throw Errno(rawValue: errno) }
    }

    private static func name(_ device: UInt64) -> String { "\(device & 0xFFFF_FFFF)" }
}
