import Glibc
import LinuxSystem
import ToolSupport

/// Why a source or a mount point cannot be mounted.
package struct PlaceObstacle: Error {
    package enum Role: String {
        case source
        case mountpoint = "mount point"
    }

    private let role: Role
    private let path: String
    /// What follows the path in a sentence, with the blank or the colon before it.
    private let said: String
    /// What to do; nil: the state says it.
    package let remedy: String?
    private let status: Int32

    package init(_ role: Role, _ path: String, _ said: String, do remedy: String? = nil, status: Int32 = MountExit.failed) {
        (self.role, self.path, self.said, self.remedy, self.status) = (role, path, said, remedy, status)
    }

    /// How it is, without the path.
    package var state: String { String(said.drop { $0 == ":" || $0 == " " }) }

    /// As `aclfs mount` says it.
    package var failure: MountFailure {
        MountFailure(status: status, message: "\(role.rawValue) \(path)\(said)" + (remedy.map { "; \($0)" } ?? ""))
    }
}

/// What `aclfs mount` refuses of a source and of a mount point, and `aclfs doctor` reports.
package enum MountPlace {
    /// - Returns: the directory. Of a mount point only the path is opened: the kernel decides later whether the caller may mount there.
    /// - Throws: it is no directory, or the caller may not open it.
    package static func open(_ path: String, _ role: PlaceObstacle.Role) throws(PlaceObstacle) -> OwnedDescriptor {
        let access = role == .source ? OpenFlag.readOnly : OpenFlag.path
        do { return try Syscall.open(path, access | OpenFlag.directory) } catch { throw PlaceObstacle(role, path, ": \(error)") }
    }

    /// Refuses a source on an aclfs mount: it would be judged twice, and the daemon could wait for itself.
    /// - Parameter directory: a descriptor of the source.
    package static func refuseNesting(_ directory: Int32, _ source: String) throws(PlaceObstacle) {
        guard let status = try? Syscall.statx(directory) else { return }
        let device = "\(status.device >> 32):\(status.device & 0xFFFF_FFFF)"
        guard let entry = MountTable.entries().last(where: { $0.device == device && $0.type == "fuse.aclfs" }) else { return }
        throw PlaceObstacle(
            .source, source, " lies in the aclfs mount \(entry.path)", do: "name the directory that it serves (\(entry.source))")
    }

    /// Refuses a mount point on which a mount stands whose server has died.
    package static func refuseDead(_ mountpoint: String) throws(PlaceObstacle) {
        guard MountServer.isDead(mountpoint) else { return }
        let type = MountTable.entry(at: mountpoint)?.type ?? "mount"
        throw PlaceObstacle(
            .mountpoint, mountpoint, ": \(Errno.notconn); a \(type) is there whose server died",
            do: "unmount it first (umount \(mountpoint))")
    }

    /// Refuses a mount point on which an aclfs mount stands.
    package static func refuseUsed(_ mountpoint: String) throws(PlaceObstacle) {
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else { return }
        throw PlaceObstacle(.mountpoint, mountpoint, " is in use: \(entry.source) is mounted there")
    }

    /// The rule of fusermount3, which it applies itself when it mounts for an ordinary user: the user may write to the mount point, and
    /// owns it if it is sticky.
    /// - Returns: what refuses this user; nil: nothing, or the user is root.
    package static func helperRule(_ mountpoint: String) -> PlaceObstacle? {
        if getuid() == 0 { return nil }
        var status = stat()
        guard stat(mountpoint, &status) == 0 else { return PlaceObstacle(.mountpoint, mountpoint, ": \(Errno(rawValue: errno))") }
        let remedy = "name a directory of this user's own"
        if status.st_mode & S_ISVTX != 0, status.st_uid != getuid() {
            return PlaceObstacle(.mountpoint, mountpoint, " is sticky and belongs to another user: fusermount3 refuses it", do: remedy)
        }
        if access(mountpoint, W_OK) == 0 { return nil }
        return PlaceObstacle(.mountpoint, mountpoint, " is not writable for this user: fusermount3 refuses it", do: remedy)
    }

    /// - Returns: the first directory of a path that this user may not search; nil if there is none.
    package static func closedDirectory(on path: String) -> String? {
        var directory = path.hasPrefix("/") ? "/" : "."
        for name in path.split(separator: "/") {
            if access(directory, X_OK) != 0, errno == EACCES { return (try? MountPath.real(directory)) ?? directory }
            directory += (directory.hasSuffix("/") ? "" : "/") + name
        }
        return nil
    }
}
