import ACLFileSystem
import Authorization
import LinuxSystem
import MountOptions
import Synchronization
import ToolSupport

/// Watches the kernel's flags of the mount. A remount without the helper (`mount -i`) changes them, and the daemon must follow.
///
/// Only changes count: a remount through the helper sets the kernel and the daemon one after the other, and in between they differ.
final class MountWatch: Sendable {
    let device: String
    let mountpoint: String
    private let isStopped = Atomic<Bool>(false)

    /// The flags that the daemon judges by. `isReadOnly` is the flag of the file system, not of one mount.
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

    /// The entry at the mount point, or else of another mount of the same file system.
    var entry: MountEntry? {
        let mounts = MountTable.entries().filter { $0.device == device && $0.type == "fuse.aclfs" }
        return mounts.last { $0.path == mountpoint } ?? mounts.first
    }

    private let waiter: Waiter

    init(device: String, mountpoint: String) throws(Errno) {
        (self.device, self.mountpoint) = (device, mountpoint)
        waiter = try Waiter()
    }

    /// Ends the thread. Call when the mount has ended.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    /// - Parameter fileSystem: changed when the flags change.
    /// - Throws: the mount table cannot be opened, or there is no thread.
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
