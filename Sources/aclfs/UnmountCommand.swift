import FuseSession
import Glibc
import LinuxSystem

/// `aclfs unmount MOUNTPOINT`: ends a mount; one whose daemon died is taken away.
enum UnmountCommand {
    static func run(_ arguments: [String]) -> Int32 {
        let words = arguments.filter { !$0.hasPrefix("-") }
        guard words.count == 1, words.count == arguments.count, let path = words.first else {
            printError("usage: aclfs unmount MOUNTPOINT")
            return MountExit.wrongUse
        }
        let isDead = access(path, F_OK) != 0 && errno == ENOTCONN
        var mountpoint = path
        if !isDead {
            guard let resolved = realpath(path, nil) else {
                printError("aclfs: \(path): \(Errno(rawValue: errno))")
                return MountExit.failed
            }
            mountpoint = String(cString: resolved)
            free(resolved)
        }
        if let entry = MountTable.entry(at: mountpoint), entry.type != "fuse.aclfs" {
            printError("aclfs: \(path): a \(entry.type) is mounted there, not an aclfs")
            return MountExit.failed
        }
        if MountTable.entry(at: mountpoint) == nil, !isDead {
            printError("aclfs: \(path): nothing is mounted there")
            return MountExit.failed
        }
        if geteuid() != 0 { return throughHelper(mountpoint, lazily: isDead) }
        do {
            try Mounting.unmount(mountpoint, lazily: isDead)
            return 0
        } catch {
            printError("aclfs: \(path): \(Errno(rawValue: error.errno))")
            return MountExit.failed
        }
    }

    /// An ordinary user's mount is taken away by the set-uid helper that made it.
    private static func throughHelper(_ mountpoint: String, lazily: Bool) -> Int32 {
        let words = ["fusermount3", "-u"] + (lazily ? ["-z"] : []) + ["--", mountpoint]
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var pid: pid_t = 0
        guard posix_spawnp(&pid, "fusermount3", nil, nil, &argv, environ) == 0 else {
            printError("aclfs: fusermount3 cannot be started; install the package fuse3")
            return MountExit.systemError
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status == 0 ? 0 : MountExit.failed
    }
}
