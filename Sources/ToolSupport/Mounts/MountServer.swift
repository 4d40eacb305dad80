import Glibc
import LinuxSystem

/// Whether the daemon of a mount has died, which the kernel says to whoever asks something of the mount.
package enum MountServer {
    /// As below; false where it lies on, or behind, what another user serves: nobody goes there, he need not answer.
    package static func isDead(_ mount: MountEntry) -> Bool {
        let path = Array(mount.path.utf8)
        guard let table = try? MountInfo.ofThisProcess(),
            !table.contains(where: { $0.isStrangers(to: geteuid()) && (path == $0.path || path.starts(with: $0.path + [0x2F])) })
        else { return false }
        return isDead(mount.path)
    }

    package static func isDead(_ mountpoint: String) -> Bool {
        var status = stat()
        if stat(mountpoint, &status) != 0 { return saysDead(Errno(rawValue: errno)) }
        // The kernel may know the attributes still, but never the state of the file system.
        var fileSystem = statvfs()
        return statvfs(mountpoint, &fileSystem) != 0 && saysDead(Errno(rawValue: errno))
    }

    /// The second and the third are what requests get that are under way while the daemon dies: on a ring first the third.
    static func saysDead(_ error: Errno) -> Bool { [ENOTCONN, ECONNABORTED, ECANCELED].contains(error.rawValue) }
}
