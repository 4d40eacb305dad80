import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// `aclfs unmount MOUNTPOINT`: ends a mount, dead or alive, and returns when the daemon has closed the source.
package enum OrdinaryUnmount {
    /// - Parameter path: of the mount point.
    /// - Throws: no aclfs mount is there, or it is in use.
    package static func perform(_ path: String) throws(MountFailure) {
        let mountpoint = try MountPath.resolved(path, role: "mount point")
        // A dead mount may be about to be replaced: its successor is what is to be unmounted.
        let lock = MountServer.isDead(mountpoint) ? MountLock.acquire() : nil
        defer { lock?.release() }
        let entry = try entry(at: mountpoint, path)
        let isDead = MountServer.isDead(mountpoint)
        let daemon = isDead ? nil : DaemonExit(of: entry)
        do throws(Errno) { try Unmounting.perform(mountpoint, lazily: isDead) } catch { throw failure(error, path, entry) }
        // An interrupted healing leaves a second dead mount beneath the first.
        if isDead { try Unmounting.healDead(mountpoint) }
        waitForExit(by: daemon, of: entry, path)
    }

    /// - Parameters:
    ///   - mountpoint: the real path.
    ///   - path: as the caller wrote it, for messages.
    /// - Throws: no aclfs mount is there.
    static func entry(at mountpoint: String, _ path: String) throws(MountFailure) -> MountEntry {
        func failed(_ reason: String) -> MountFailure {
            MountFailure(status: MountExit.failed, message: "\(path): \(reason)")
        }
        guard let entry = MountTable.entry(at: mountpoint) else { throw failed("nothing is mounted there") }
        guard entry.type == "fuse.aclfs" else { throw failed("a \(entry.type) is mounted there, not aclfs") }
        return entry
    }

    /// - Parameter mount: the mount that was not unmounted.
    static func failure(_ error: Errno, _ path: String, _ mount: MountEntry) -> MountFailure {
        switch error {
        case .busy:
            let holders = MountHolders(of: mount).lines
            let who = holders.isEmpty ? "a process has a file open or its working directory there" : "in use by what is listed below"
            return MountFailure(
                status: MountExit.failed, message: "\(path): \(error); \(who) (aclfs unmount -f unmounts it anyway)", details: holders)
        case .noent where geteuid() != 0:
            return MountFailure(
                status: MountExit.systemError, message: "fusermount3 cannot be started; install the package fuse3")
        case .perm where geteuid() != 0:
            let who = mounter(of: mount)
            let message = "\(path): \(error); mounted by \(who), and only \(who == "root" ? who : "\(who) or root") may unmount it"
            return MountFailure(status: MountExit.failed, message: message)
        default: return MountFailure(status: MountExit.failed, message: "\(path): \(error)")
        }
    }

    private static func mounter(of mount: MountEntry) -> String {
        let uid = mount.userID ?? 0
        do throws(Errno) { return try AccountDatabase.user(uid: uid)?.name ?? "user \(uid)" } catch { return "user \(uid)" }
    }

    /// Waits for the daemon after a successful unmount. A daemon that still holds the source is only reported.
    static func waitForExit(
        by daemon: DaemonExit?, of mount: MountEntry, _ path: String, seconds: UInt32 = 10, isAborted: Bool = false
    ) {
        guard let holder = daemon?.wait(seconds: seconds, isAborted: isAborted) else { return }
        printError("aclfs: \(path) is unmounted, but its daemon (process \(holder)) still holds \(mount.source) open")
    }
}
