import Glibc
import LinuxSystem
import ToolSupport

/// The daemon of a mount that is about to be unmounted. umount(2) does not wait for it: until it has ended it holds the source, and an
/// unmount of the file system below fails with EBUSY.
struct LettingGo {
    private let daemon: RunningProcess
    private let mount: MountEntry
    private let connections = try? FuseConnections()
    private let connection: UInt64?
    private var owner: UInt32 { mount.userID ?? 0 }

    /// Before the unmount, while the mount's control socket shows who serves. It is asked nothing, because it may hang.
    /// - Returns: nil if the daemon has ended or cannot be found; then nothing can be waited for.
    init?(of mount: MountEntry) {
        guard let process = try? ControlClient(device: mount.device, owner: mount.userID ?? 0, timeout: 1000).process() else {
            return nil
        }
        (daemon, self.mount) = (process, mount)
        connection = DeviceNumber.parse(mount.device).flatMap { [connections] in connections?.identity(of: $0) }
    }

    /// After the unmount: waits until the daemon has ended, or serves other mounts alone.
    /// - Parameter isAborted: nothing is served any more, although files may be open.
    /// - Returns: its process id if it still has the source when the time is over.
    func wait(seconds: UInt32, isAborted: Bool) -> Int32? {
        let end = SystemTime.monotonic() + UInt64(seconds) * 1_000_000_000
        while !daemon.ends(milliseconds: 100) {
            if !isAborted && isServedElsewhere || hasLeftThisMountAlone { return nil }
            if SystemTime.monotonic() > end { return daemon.pid }
        }
        return nil
    }

    /// Whether the kernel keeps the mount, as in a copy of the mount namespace: then the daemon goes on.
    private var isServedElsewhere: Bool {
        guard let connection, let device = DeviceNumber.parse(mount.device) else { return false }
        return connections?.identity(of: device) == connection
    }

    /// One daemon may serve several mounts.
    private var hasLeftThisMountAlone: Bool {
        func isDaemons(_ device: String) -> Bool {
            (try? ControlClient(device: device, owner: owner, timeout: 200).process())?.pid == daemon.pid
        }
        return !isDaemons(mount.device) && ControlPlace.devices(of: owner).contains { $0 != mount.device && isDaemons($0) }
    }
}
