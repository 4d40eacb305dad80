import Glibc
import LinuxSystem

/// Whether the daemon of a mount has died. The kernel answers any request to such a mount with an error.
package enum MountServer {
    /// As below. False if the path lies on or below a mount of another user: its server need not answer, so it gets no request.
    package static func isDead(_ mount: MountEntry) -> Bool {
        let path = Array(mount.path.utf8)
        guard let table = try? MountInfo.ofThisProcess(),
            !table.contains(where: { $0.isOfAnotherUser(than: geteuid()) && (path == $0.path || path.starts(with: $0.path + [0x2F])) })
        else { return false }
        return isDead(mount.path)
    }

    /// Whether the mount at a path is dead. The request may wait for its server.
    package static func isDead(_ mountpoint: String) -> Bool {
        var status = stat()
        if stat(mountpoint, &status) != 0 { return saysDead(Errno(rawValue: errno)) }
        // The kernel may have cached the attributes, but never the state of the file system.
        var fileSystem = statvfs()
        return statvfs(mountpoint, &fileSystem) != 0 && saysDead(Errno(rawValue: errno))
    }

    /// Requests in flight when the daemon dies get ECONNABORTED; on a ring ECANCELED first.
    static func saysDead(_ error: Errno) -> Bool { [ENOTCONN, ECONNABORTED, ECANCELED].contains(error.rawValue) }
}
