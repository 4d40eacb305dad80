import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Which directories that the caller may not search belong to the caller.
///
/// A user namespace shows every owner that it does not map as `nobody`. If the caller is that user, the owners are noted before the
/// namespace exists.
struct SandboxClosedDirectories {
    private struct Object: Hashable {
        var device: UInt64
        var inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// Closed directories of other users. Empty unless the caller is the overflow user.
    private var foreign: Set<Object> = []
    private let uid = geteuid()

    /// - Parameters:
    ///   - places: all that has to be hidden.
    ///   - kept: of these, the directories of grants and of control sockets.
    /// - Throws: the mount table cannot be read.
    init(_ places: SandboxPlaces, kept: [SandboxPlaces.Place]) throws(Errno) {
        guard try uid == Self.overflow() else { return }
        var mounts = SandboxMounts()
        try mounts.read()
        for mount in mounts.table {
            for exposed in places.exposedPaths(of: mount, root: mount.shownPath.pathNames, kept: kept, uid: uid) {
                let walk = try? SandboxWalk(mount, exposed.names, among: &mounts, uid: uid)
                guard case .closed(let directory)? = walk?.end else { continue }
                let status = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
                if status.uid != uid { foreign.insert(Object(status)) }
            }
        }
    }

    /// Whether the caller owns a directory, and could open it by chmod(2).
    func isOwn(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        let status = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
        return status.uid == uid && !foreign.contains(Object(status))
    }

    private static func overflow() throws(Errno) -> UInt32 {
        let text = try Syscall.readAll(path: "/proc/sys/kernel/overflowuid")
        guard let number = UInt32(String(decoding: text.split(separator: 0x0A).first ?? [], as: UTF8.self)) else { throw .inval }
        return number
    }
}
