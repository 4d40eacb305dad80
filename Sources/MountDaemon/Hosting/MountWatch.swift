import ACLFileSystem
import Authorization
import LinuxSystem
import MountOptions
import Synchronization
import ToolSupport

/// Follows what the kernel says of our mount: somebody may remount it without a helper (`mount -i`, or where none
/// is installed), and the daemon must not go on with other words than the kernel.
///
/// Only changes are followed. A remount through the daemon sets the one before the other, and what lies between
/// the two is no change of the kernel's.
final class MountWatch: Sendable {
    let device: String
    let mountpoint: String
    private let isStopped = Atomic<Bool>(false)

    /// What the daemon judges by as well. Read-only is the file system's own flag, not that of one mount of it.
    private struct State: Equatable {
        var isReadOnly: Bool
        var forbidsExecution: Bool
        var accessTimes: AccessTimeRule

        init(_ entry: MountEntry) {
            isReadOnly = entry.superOptions.contains("ro")
            forbidsExecution = entry.options.contains("noexec")
            accessTimes = AccessTimeRule(mountTable: entry.options)
        }
    }

    /// Of several mounts of the same file system, the one at our mount point.
    var entry: MountEntry? {
        let ours = MountTable.entries().filter { $0.device == device && $0.type == "fuse.aclfs" }
        return ours.last { $0.path == mountpoint } ?? ours.first
    }

    private let waiter: Waiter

    init(device: String, mountpoint: String) throws(Errno) {
        (self.device, self.mountpoint) = (device, mountpoint)
        waiter = try Waiter()
    }

    /// The mount is gone.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    func start(_ fileSystem: FileSystem) throws(Errno) {
        let table = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
        let shared = SharedDescriptor(table)
        guard let first = entry.map(State.init) else { return }
        _ = try Thread.start(name: "aclfs-mounts") { [self] in
            var last = first
            while true {
                _ = waiter.wait(watching: shared.rawValue, until: nil)
                if isStopped.load(ordering: .relaxed) { return }
                guard let now = entry.map(State.init) else { continue }
                if now.accessTimes != last.accessTimes { fileSystem.changeAccessTimes(now.accessTimes) }
                if now != last {
                    fileSystem.changeVolume { volume in
                        if now.isReadOnly != last.isReadOnly { volume.isReadOnly = now.isReadOnly }
                        if now.forbidsExecution != last.forbidsExecution {
                            volume.forbidsExecution = now.forbidsExecution
                        }
                    }
                }
                last = now
            }
        }
    }
}
