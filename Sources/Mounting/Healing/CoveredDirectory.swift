import Glibc
import LinuxSystem
import ToolSupport

/// Where a mount's source lies if a dead mount of ours may be in the way to it, as over itself: seen from a copy of the mount namespace
/// in which the dead mount is taken away, so that nothing is uncovered here.
struct CoveredDirectory: Sendable {
    /// The source's real path.
    var path: String
    /// How many mounts of ours on the mount point, one on the other, are dead.
    var depth: Int
    /// What opens it here, if the dead mounts cover it; nil if they do not.
    private var key: Key?

    private struct Key: Sendable {
        var handle: FileHandle?
        var device: UInt64
        var inode: UInt64
    }

    /// - Throws: what kept the copy from being made.
    /// - Returns: or why the source cannot be found there.
    static func look(for source: String, below mountpoint: String) throws(Errno) -> Result<CoveredDirectory, Errno> {
        try PrivateNamespace.visit { () throws(Errno) in
            var depth = 0
            while try isDeadHere(mountpoint) {
                try Syscall.unmount(mountpoint, flags: UnmountFlag.detach | UnmountFlag.noFollow)
                depth += 1
            }
            do throws(Errno) {
                let path = try MountPath.real(source)
                var found = CoveredDirectory(path: path, depth: depth)
                if MountPath.isInside(path, mountpoint) { found.key = try key(of: path, mountpoint) }
                return .success(found)
            } catch { return .failure(error) }
        }
    }

    /// The descriptor is one of the real mount: with it everything is as if the directory had been opened before it was covered.
    /// - Throws: opnotsupp if there is no way to it from here.
    func open(_ mountpoint: String) throws(Errno) -> OwnedDescriptor {
        guard let key else { return try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory) }
        guard let handle = key.handle else { throw .opnotsupp }
        // An object of the same mount that nothing covers.
        let above = try Syscall.open(MountPath.directory(of: mountpoint), OpenFlag.readOnly | OpenFlag.directory)
        let opened = try Syscall.openByHandle(above.rawValue, handle, OpenFlag.readOnly | OpenFlag.directory)
        let status = try Syscall.statx(opened.rawValue)
        guard status.device == key.device, status.inode == key.inode else { throw .opnotsupp }
        return opened
    }

    /// In the copy.
    private static func key(of path: String, _ mountpoint: String) throws(Errno) -> Key {
        let directory = try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory)
        let status = try Syscall.statx(directory.rawValue)
        let above = try Syscall.open(MountPath.directory(of: mountpoint), OpenFlag.path | OpenFlag.directory)
        // Of another mount, such as the one whose top the mount point is, nothing is in reach here.
        let ground = try Syscall.statx(above.rawValue)
        let isReachable = status.mountID != 0 && status.mountID == ground.mountID
        return Key(
            handle: isReachable ? try? Syscall.nameToHandle(directory.rawValue) : nil, device: status.device,
            inode: status.inode)
    }

    /// In the copy: whether the topmost mount is one of ours and dead.
    private static func isDeadHere(_ mountpoint: String) throws(Errno) -> Bool {
        guard MountServer.isDead(mountpoint) else { return false }
        let file = try Syscall.open("/proc/thread-self/mountinfo", OpenFlag.readOnly)
        let table = try MountInfo.read(file.rawValue).map { MountEntry($0) }
        return MountTable.stack(at: mountpoint, in: table).first?.type == "fuse.aclfs"
    }
}
