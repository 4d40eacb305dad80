import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs unmount MOUNTPOINT`: ends a mount, and returns when the daemon has let go of the source; one whose daemon died is taken
/// away.
package enum OrdinaryUnmount {
    package static func perform(_ path: String) throws(MountFailure) {
        let mountpoint = try MountPath.resolved(path, role: "mount point")
        let entry = try entry(at: mountpoint, path)
        let isDead = MountServer.isDead(mountpoint)
        let daemon = isDead ? nil : LettingGo(of: entry)
        do throws(Errno) { try Unmounting.perform(mountpoint, lazily: isDead) } catch { throw failure(error, path) }
        // A healing that did not end leaves a second one beneath the first.
        if isDead { try Unmounting.healDead(mountpoint) }
        waitUntilLetGo(by: daemon, of: entry, path)
    }

    /// - Parameter path: as it was written.
    static func entry(at mountpoint: String, _ path: String) throws(MountFailure) -> MountEntry {
        func failed(_ reason: String) -> MountFailure {
            MountFailure(status: MountExit.failed, message: "\(path): \(reason)")
        }
        guard let entry = MountTable.entry(at: mountpoint) else { throw failed("nothing is mounted there") }
        guard entry.type == "fuse.aclfs" else { throw failed("a \(entry.type) is mounted there, not an aclfs") }
        return entry
    }

    static func failure(_ error: Errno, _ path: String) -> MountFailure {
        switch error {
        case .busy:
            MountFailure(
                status: MountExit.failed,
                message: "\(path): \(error); files are open or working directories are there (aclfs unmount -f does not mind)")
        case .noent where geteuid() != 0:
            MountFailure(
                status: MountExit.systemError, message: "fusermount3 cannot be started; install the package fuse3")
        default: MountFailure(status: MountExit.failed, message: "\(path): \(error)")
        }
    }

    /// The mount is gone whatever comes of it: what the daemon still holds is only said.
    static func waitUntilLetGo(
        by daemon: LettingGo?, of mount: MountEntry, _ path: String, seconds: UInt32 = 10, isAborted: Bool = false
    ) {
        guard let holder = daemon?.wait(seconds: seconds, isAborted: isAborted) else { return }
        printError("aclfs: \(path) is unmounted, but its daemon (process \(holder)) has not let go of \(mount.source) yet")
    }
}
