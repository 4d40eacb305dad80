import Glibc
import LinuxSystem
import ToolSupport

/// The source of a mount that a dead mount may hide, such as a mount over itself. It is found in a copy of the mount namespace without
/// the dead mount, so that nothing is exposed here.
struct HiddenSource: Sendable {
    /// The source's real path.
    var path: String
    /// The number of dead aclfs mounts on the mount point, one on the other.
    var depth: Int
    /// How to open the source here; nil if no dead mount hides it.
    private var key: Key?

    private struct Key: Sendable {
        var handle: FileHandle?
        var device: UInt64
        var inode: UInt64
    }

    /// - Returns: the source, or why it cannot be found in the copy.
    /// - Throws: the copy cannot be made.
    static func look(for source: String, below mountpoint: String) throws(Errno) -> Result<HiddenSource, Errno> {
        try PrivateNamespace.visit { () throws(Errno) in
            var depth = 0
            while try isDeadHere(mountpoint) {
                try Syscall.unmount(mountpoint, flags: UnmountFlag.detach | UnmountFlag.noFollow)
                depth += 1
            }
            do throws(Errno) {
                let path = try MountPath.real(source)
                var found = HiddenSource(path: path, depth: depth)
                if MountPath.isInside(path, mountpoint) { found.key = try key(of: path, mountpoint) }
                return .success(found)
            } catch { return .failure(error) }
        }
    }

    /// Opens the source in this mount namespace, as if it had been opened before the dead mount hid it.
    /// - Throws: `opnotsupp` if no file handle leads to it.
    func open(_ mountpoint: String) throws(Errno) -> OwnedDescriptor {
        guard let key else { return try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory) }
        guard let handle = key.handle else { throw .opnotsupp }
        // A visible object of the same mount.
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
        // A handle opens only objects of the mount on which the mount point lies.
        let ground = try Syscall.statx(above.rawValue)
        let isReachable = status.mountID != 0 && status.mountID == ground.mountID
        return Key(
            handle: isReachable ? try? Syscall.nameToHandle(directory.rawValue) : nil, device: status.device,
            inode: status.inode)
    }

    /// In the copy: whether the topmost mount is a dead aclfs mount.
    private static func isDeadHere(_ mountpoint: String) throws(Errno) -> Bool {
        guard MountServer.isDead(mountpoint) else { return false }
        let file = try Syscall.open("/proc/thread-self/mountinfo", OpenFlag.readOnly)
        let table = try MountInfo.read(file.rawValue).map { MountEntry($0) }
        return MountTable.stack(at: mountpoint, in: table).first?.type == "fuse.aclfs"
    }
}
