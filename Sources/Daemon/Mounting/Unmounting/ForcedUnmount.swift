import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs unmount -f`: works without the daemon, which may be stopped or sleep in the kernel.
///
/// It aborts the connection, so that every request fails and every caller continues. Then it detaches the mount, which open files and
/// working directories would keep otherwise.
package enum ForcedUnmount {
    /// - Parameter path: of the mount point.
    /// - Throws: no aclfs mount is there, or the kernel refuses.
    package static func perform(_ path: String) throws(MountFailure) {
        let mountpoint = try MountPath.unasked(path, role: "mount point")
        let entry = try OrdinaryUnmount.entry(at: mountpoint, path)
        let daemon = DaemonExit(of: entry)
        var isAborted = geteuid() == 0
        do throws(Errno) {
            // An ordinary user can abort only through a mounted fusectl. Otherwise the mount ends with its last use.
            if let device = DeviceNumber.parse(entry.device), (try? FuseConnections().abort(device)) != nil { isAborted = true }
            if geteuid() == 0 {
                let flags = UnmountFlag.force | UnmountFlag.detach | UnmountFlag.noFollow
                try Syscall.unmount(mountpoint, flags: flags)
            } else {
                try Unmounting.perform(mountpoint, lazily: true)
            }
        } catch { throw OrdinaryUnmount.failure(error, path, entry) }
        // The daemon may never end.
        OrdinaryUnmount.waitForExit(by: daemon, of: entry, path, seconds: 3, isAborted: isAborted)
    }
}
