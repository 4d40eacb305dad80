import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs unmount -f`: works whatever the daemon does, for it is asked nothing. It may be stopped, or its threads may sleep in the kernel.
///
/// The connection is aborted, so that every request fails and who waited for an answer goes on; then the mount is detached, so that
/// open files and working directories do not keep it.
package enum ForcedUnmount {
    package static func perform(_ path: String) throws(MountFailure) {
        let mountpoint = try MountPath.unasked(path, role: "mount point")
        let entry = try OrdinaryUnmount.entry(at: mountpoint, path)
        let daemon = LettingGo(of: entry)
        var isAborted = geteuid() == 0
        do throws(Errno) {
            // An ordinary user may do it where fusectl is mounted; else the mount ends with its last use.
            if let device = DeviceNumber.parse(entry.device), (try? FuseConnections().abort(device)) != nil { isAborted = true }
            if geteuid() == 0 {
                let flags = UnmountFlag.force | UnmountFlag.detach | UnmountFlag.noFollow
                try Syscall.unmount(mountpoint, flags: flags)
            } else {
                try Unmounting.perform(mountpoint, lazily: true)
            }
        } catch { throw OrdinaryUnmount.failure(error, path) }
        // It may never come to its end.
        OrdinaryUnmount.waitUntilLetGo(by: daemon, of: entry, path, seconds: 3, isAborted: isAborted)
    }
}
