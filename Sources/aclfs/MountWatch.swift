import ACLFileSystem
import Authorization
import Glibc
import LinuxSystem

/// Follows what the kernel says of our mount: somebody may remount it without a helper (`mount -i`, or where none
/// is installed), and the daemon must not go on with other words than the kernel.
///
/// Only changes are followed. A remount through the daemon sets the one before the other, and what lies between
/// the two is no change of the kernel's.
struct MountWatch {
    let device: String
    let mountpoint: String

    /// What the daemon judges by as well. Read-only is the file system's own flag, not that of one mount of it.
    private struct State: Equatable {
        var isReadOnly: Bool
        var forbidsExecution: Bool

        init(_ entry: MountEntry) {
            isReadOnly = entry.superOptions.contains("ro")
            forbidsExecution = entry.options.contains("noexec")
        }
    }

    /// Of several mounts of the same file system, the one at our mount point.
    var entry: MountEntry? {
        let ours = MountTable.entries().filter { $0.device == device && $0.type == "fuse.aclfs" }
        return ours.last { $0.path == mountpoint } ?? ours.first
    }

    func start(_ fileSystem: FileSystem) throws(Errno) {
        let table = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
        let shared = SharedDescriptor(table)
        guard let first = entry.map(State.init) else { return }
        _ = try Thread.start(name: "aclfs-mounts") {
            var last = first
            while true {
                var events = pollfd(fd: shared.rawValue, events: Int16(POLLPRI), revents: 0)
                if poll(&events, 1, -1) < 0, errno != EINTR { return }
                guard let now = entry.map(State.init) else { continue }
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
