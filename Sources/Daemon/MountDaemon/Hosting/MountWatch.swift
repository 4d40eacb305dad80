import ACLFileSystem
import Authorization
import LinuxSystem
import MountOptions
import Synchronization
import ToolSupport

/// Watches the kernel's flags of the mount. A remount without the helper (`mount -i`) changes them, and the daemon must follow. What it has not
/// followed yet is asked where it decides (`Judge.presentVolume`).
///
/// Only changes count: a remount through the helper sets the kernel and the daemon one after the other, and in between they differ.
final class MountWatch: Sendable {
    let device: String
    let mountpoint: String
    private let isStopped = Atomic<Bool>(false)

    /// The flags that the daemon judges by. `isReadOnly` is the flag of the file system, not of one mount.
    private struct Flags: Equatable {
        var isReadOnly: Bool
        var forbidsExecution: Bool
        var accessTimes: AccessTimeRule
        var isSynchronous: Bool
        var hasSynchronousNames: Bool

        init(_ entry: MountEntry) {
            isReadOnly = entry.superOptions.contains("ro")
            forbidsExecution = entry.options.contains("noexec")
            accessTimes = AccessTimeRule(mountTable: entry.options)
            isSynchronous = entry.superOptions.contains("sync")
            hasSynchronousNames = entry.superOptions.contains("dirsync")
        }
    }

    /// The entry at the mount point, or else of another mount of the same file system.
    var entry: MountEntry? {
        let mounts = MountTable.entries().filter { $0.device == device && $0.type == "fuse.aclfs" }
        return mounts.last { $0.path == mountpoint } ?? mounts.first
    }

    private let waiter: Waiter
    /// The kernel reports a change of the table once for each descriptor.
    private let table: SharedDescriptor
    private struct State {
        /// What the volume's state follows, and what the kernel said last.
        var followed: Flags
        var present: Flags
    }
    private let state: Lock<State?>

    init(device: String, mountpoint: String) throws(Errno) {
        (self.device, self.mountpoint) = (device, mountpoint)
        waiter = try Waiter()
        table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        state = Lock(nil)
    }

    /// Reads the flags if the table has changed since.
    private func withPresent<Value>(_ body: (inout State) -> Value) -> Value? {
        state.withLock { state in
            guard var read = state else { return nil }
            defer { state = read }
            if Syscall.hasExceptionalCondition(table.rawValue), let now = entry.map(Flags.init) { read.present = now }
            return body(&read)
        }
    }

    /// Applies what the kernel has changed since the volume's state followed it.
    private func apply(to volume: inout VolumeState, follows: Bool = false) {
        _ = withPresent { state in
            let (now, last) = (state.present, state.followed)
            if now.isReadOnly != last.isReadOnly { volume.isReadOnly = now.isReadOnly }
            if now.forbidsExecution != last.forbidsExecution { volume.forbidsExecution = now.forbidsExecution }
            if follows { state.followed = now }
        }
    }

    /// Ends the thread. Call when the mount has ended.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    /// - Parameter fileSystem: changed when the flags change.
    /// - Throws: the mount table cannot be opened, or there is no thread.
    func start(_ fileSystem: FileSystem) throws(Errno) {
        let events = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        guard let first = entry.map(Flags.init) else { return }
        state.withLock { $0 = State(followed: first, present: first) }
        fileSystem.followKernel { [self] volume in apply(to: &volume) }
        _ = try Thread.start(name: "aclfs-mounts") { [self] in
            while true {
                _ = waiter.wait(watching: events.rawValue, until: nil)
                if isStopped.load(ordering: .relaxed) { return }
                guard let seen = withPresent({ $0 }), seen.present != seen.followed else { continue }
                if seen.present.accessTimes != seen.followed.accessTimes { fileSystem.changeAccessTimes(seen.present.accessTimes) }
                fileSystem.changeSynchronous(writes: seen.present.isSynchronous, names: seen.present.hasSynchronousNames)
                fileSystem.changeVolume { apply(to: &$0, follows: true) }
            }
        }
    }
}
