/// A type of file system with objects that other hosts, or programs of its server, may change. This kernel's caches of it may be
/// stale, and its locks do not stop the others (docs/decisions/0023-shared-backings.md).
public struct SharedFileSystem: Sendable {
    /// The type in the mount table. For FUSE the server's name follows.
    public let name: String
    /// The type in statfs(2).
    public let magic: UInt64
    /// Whether a server decides on requests by their fsuid and has reserves of its own.
    public let isJudgedByServer: Bool

    /// Whether the server learns which user opens a file, also where the kernel opens it for another file system (passthrough), and so may refuse
    /// what that one allows. NFS sends whom the file belongs to that was registered.
    public var opensAsCaller: Bool { isJudgedByServer && magic != FileSystemType.nfs }

    private init(_ name: String, _ magic: UInt64, isJudgedByServer: Bool = true) {
        (self.name, self.magic, self.isJudgedByServer) = (name, magic, isJudgedByServer)
    }

    /// - Returns: nil for a file system that only this host changes.
    public static func of(magic: UInt64) -> SharedFileSystem? { all.first { $0.magic == magic } }

    /// Whether a path lies on such a file system. False if that cannot be found out.
    public static func holds(_ path: String) -> Bool {
        guard let descriptor = try? Syscall.open(path, OpenFlag.path), let type = try? Syscall.fileSystemType(descriptor.rawValue) else {
            return false
        }
        return of(magic: type) != nil
    }

    /// The only list of them. Every FUSE file system counts: its server may change anything.
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
        // Hosts share the disk itself, and each one decides.
        SharedFileSystem("ocfs2", 0x7461_636F, isJudgedByServer: false),
        SharedFileSystem("gfs2", 0x0116_1970, isJudgedByServer: false),
    ]
}
