import Glibc
import LinuxSystem

/// The mounts of this namespace by their numbers, as far as a walk has to know whom it would ask.
struct SandboxMounts {
    private(set) var table: [MountInfo] = []
    private var byNumber: [UInt64: MountInfo] = [:]
    private let uid = geteuid()

    mutating func read() throws(Errno) {
        table = try MountInfo.ofThisProcess()
        byNumber = Dictionary(table.map { ($0.id, $0) }) { $1 }
    }

    /// File systems that ask, at a look-up, whether a name still means the same: when it does not, or a revocation of ours says so,
    /// the kernel takes away what is mounted on it, in all namespaces.
    private static let revalidating = ["fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "lustre", "gfs2", "ocfs2", "coda", "virtiofs"]

    /// Whether what is mounted on an object stays. On the top of a file system it always does.
    /// - Parameter isTop: of its mount, which need not be asked then.
    mutating func keepsCovers(_ object: Int32, isTop: Bool) throws(Errno) -> Bool {
        let number = try Syscall.mountID(of: object)
        if byNumber[number] == nil { try read() }
        guard let mount = byNumber[number] else { throw .stale }
        guard Self.revalidating.contains(where: { mount.type.starts(with: $0.utf8) }) else { return true }
        if !mount.root.elementsEqual("/".utf8) { return false }
        return isTop || (try? Syscall.statx(object, flags: AtFlag.dontSync))?.isMountRoot == true
    }

    /// Whether somebody else serves it, neither root nor this user: a walk through it may wait for him for ever.
    mutating func isStrangers(_ number: UInt64) throws(Errno) -> Bool {
        if byNumber[number] == nil { try read() }
        // What is met and stands in no table is taken away just now.
        guard let mount = byNumber[number] else { throw .stale }
        return mount.isStrangers(to: uid)
    }
}
