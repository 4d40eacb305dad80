/// A kind of file system whose objects other hosts, or a server's own programs, may change: what this kernel keeps of it may
/// be out of date, and its locks hold nothing still elsewhere (docs/decisions/0023-shared-backings.md).
public struct SharedFileSystem: Sendable {
    /// As the mount table writes the type; of FUSE the type goes on with the server's own name.
    public let name: String
    /// What statfs(2) says.
    public let magic: UInt64
    /// A server judges requests by the fsuid that comes with them, and keeps its own reserves.
    public let isJudgedByServer: Bool

    private init(_ name: String, _ magic: UInt64, isJudgedByServer: Bool = true) {
        (self.name, self.magic, self.isJudgedByServer) = (name, magic, isJudgedByServer)
    }

    /// nil: a file system of this host alone.
    public static func of(magic: UInt64) -> SharedFileSystem? { all.first { $0.magic == magic } }

    /// The one list of them. Any FUSE counts: its server may show anything.
    public static let all = [
        SharedFileSystem("fuse", FileSystemType.fuse),
        SharedFileSystem("nfs", FileSystemType.nfs),
        SharedFileSystem("ceph", FileSystemType.ceph),
        SharedFileSystem("9p", FileSystemType.ninePFS),
        SharedFileSystem("cifs", 0xFF53_4D42),
        SharedFileSystem("smb3", 0xFE53_4D42),
        SharedFileSystem("smbfs", 0x517B),
        SharedFileSystem("lustre", 0x0BD0_0BD0),
        SharedFileSystem("afs", 0x5346_414F),
        SharedFileSystem("afs", 0x6B41_4653),
        SharedFileSystem("coda", 0x7375_7245),
        SharedFileSystem("gpfs", 0x4750_4653),
        SharedFileSystem("orangefs", 0x2003_0528),
        SharedFileSystem("beegfs", 0x1983_0326),
        SharedFileSystem("vboxsf", 0x786F_4256),
        // Hosts share the disk itself, and each judges by itself.
        SharedFileSystem("ocfs2", 0x7461_636F, isJudgedByServer: false),
        SharedFileSystem("gfs2", 0x0116_1970, isJudgedByServer: false),
    ]
}
