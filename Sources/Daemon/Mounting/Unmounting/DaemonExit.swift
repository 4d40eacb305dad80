import Glibc
import LinuxSystem
import ToolSupport

/// Waits for the daemon of a mount that is unmounted. umount(2) does not: until the daemon has ended it holds the source, and an unmount
/// of the source's file system fails with EBUSY.
struct DaemonExit {
    private let daemon: RunningProcess
    /// It shares the daemon's descriptors, and ends after it.
    private let keeper: RunningProcess?
    private let mount: MountEntry
    private let connections = try? FuseConnections()
    private let connection: UInt64?
    private var owner: UInt32 { mount.userID ?? 0 }

    /// Finds the daemon by the control socket. Call before the unmount. The daemon gets no request, because it may hang.
    /// - Returns: nil if the daemon has ended or cannot be found.
    init?(of mount: MountEntry) {
        guard let process = try? ControlClient(device: mount.device, owner: mount.userID ?? 0, timeout: 1000).process() else {
            return nil
        }
        (daemon, self.mount) = (process, mount)
        keeper = RunningProcess(keeping: process)
        connection = DeviceNumber.parse(mount.device).flatMap { [connections] in connections?.identity(of: $0) }
    }

    /// Waits until the daemon has ended, or serves only other mounts. Call after the unmount.
    /// - Parameters:
    ///   - seconds: the timeout.
    ///   - isAborted: whether the connection was aborted, so that the kernel's own entry for it means nothing.
    /// - Returns: the process id of a daemon that still holds the source; nil if it does not.
    func wait(seconds: UInt32, isAborted: Bool) -> Int32? {
        let end = SystemTime.monotonic() + UInt64(seconds) * 1_000_000_000
        while !(daemon.ends(milliseconds: 100) && keeper?.ends(milliseconds: 100) != false) {
            if !isAborted && isServedElsewhere || servesOnlyOtherMounts { return nil }
            if SystemTime.monotonic() > end { return daemon.pid }
        }
        return nil
    }

    /// Whether the kernel keeps the mount, such as in a copy of the mount namespace. Then the daemon continues.
    private var isServedElsewhere: Bool {
        guard let connection, let device = DeviceNumber.parse(mount.device) else { return false }
        return connections?.identity(of: device) == connection
    }

    /// Whether the daemon serves other mounts and this one no more.
    private var servesOnlyOtherMounts: Bool {
        // nil: a process listens, and has no time.
        func isDaemons(_ device: String) -> Bool? {
            do throws(ControlError) {
                let client = try ControlClient(device: device, owner: owner, timeout: 200)
                return (try? client.process())?.pid == daemon.pid
            } catch { return error.isReached || error.isTimeout ? nil : false }
        }
        return isDaemons(mount.device) == false && ControlPlace.devices(of: owner).contains { $0 != mount.device && isDaemons($0) == true }
    }
}
