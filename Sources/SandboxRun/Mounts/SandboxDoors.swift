import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// Which closed directories are the caller's own. In a user namespace every owner that it does not map looks like one user, who may be
/// the caller himself (`nobody`): what is his is asked before there is one.
struct SandboxDoors {
    private struct Object: Hashable {
        var device: UInt64
        var inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// Known for who looks like others there; nobody else needs them.
    private var foreign: Set<Object> = []
    private let uid = geteuid()

    /// - Parameters:
    ///   - places: all that is to be covered.
    ///   - kept: of them, where grants are kept and control sockets lie.
    init(_ places: SandboxPlaces, kept: [SandboxPlaces.Place]) throws(Errno) {
        guard try uid == Self.overflow() else { return }
        var mounts = SandboxMounts()
        try mounts.read()
        for mount in mounts.table {
            for sight in places.sights(of: mount, root: mount.shownPath.pathNames, kept: kept, uid: uid) {
                let way = try? SandboxWalk(mount, sight.names, among: &mounts, uid: uid)
                guard case .closed(let door)? = way?.end else { continue }
                let status = try Syscall.statx(door.rawValue, flags: AtFlag.dontSync)
                if status.uid != uid { foreign.insert(Object(status)) }
            }
        }
    }

    /// Whether the caller could open it by its mode.
    func isOwn(_ door: SharedDescriptor) throws(Errno) -> Bool {
        let status = try Syscall.statx(door.rawValue, flags: AtFlag.dontSync)
        return status.uid == uid && !foreign.contains(Object(status))
    }

    private static func overflow() throws(Errno) -> UInt32 {
        let text = try Syscall.readAll(path: "/proc/sys/kernel/overflowuid")
        guard let number = UInt32(String(decoding: text.split(separator: 0x0A).first ?? [], as: UTF8.self)) else { throw .inval }
        return number
    }
}
