import FuseMounts
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// An aclfs mount on the mount point whose daemon died. The new mount goes beneath it, and the dead one is detached when the new one
/// answers: the path never leads to the directory below both (docs/reference/mounting.md "When the daemon has died").
struct DeadMount: Sendable {
    let mountpoint: String
    /// Whether `kernel_features=-beneath` hides the feature.
    let isMasked: Bool

    /// - Returns: nil if no dead mount is there, or one of another type.
    static func at(_ mountpoint: String, isMasked: Bool) -> DeadMount? {
        guard MountServer.isDead(mountpoint), MountTable.entry(at: mountpoint)?.type == "fuse.aclfs" else { return nil }
        return DeadMount(mountpoint: mountpoint, isMasked: isMasked)
    }

    /// Opens the source, even if the dead mount hides it.
    /// - Parameter report: called with the reason if the result is nil.
    /// - Returns: nil if the dead mount has to be unmounted first.
    /// - Throws: there is no such source.
    func openSource(
        _ source: String, _ report: (String) -> Void
    ) throws(MountFailure) -> (path: String, directory: SharedDescriptor)? {
        if geteuid() != 0 || isMasked {
            report(notice(isMasked ? "hidden by kernel_features" : "only root can attach a mount beneath another one"))
            return nil
        }
        let found: Result<HiddenSource, Errno>
        do throws(Errno) { found = try HiddenSource.look(for: source, below: mountpoint) } catch {
            report(notice("the directory below it cannot be examined in a copy of the mount namespace: \(error)"))
            return nil
        }
        let hidden: HiddenSource
        do throws(Errno) { hidden = try found.get() } catch {
            throw MountFailure(status: MountExit.failed, message: "source \(source): \(error)")
        }
        do throws(Errno) {
            // Beneath each of these is another dead mount, which refuses as well.
            for _ in 1..<max(1, hidden.depth) { try Unmounting.perform(mountpoint, lazily: true) }
            return (hidden.path, SharedDescriptor(try hidden.open(mountpoint)))
        } catch {
            guard error == .opnotsupp || error == .perm else {
                throw MountFailure(status: MountExit.failed, message: "source \(source): \(error)")
            }
            report(notice("it hides the source, which cannot be opened by a file handle"))
            return nil
        }
    }

    /// Makes the new mount and attaches it beneath the dead one.
    /// - Parameters:
    ///   - source: as the mount table is to show it.
    ///   - flags: of the new mount.
    ///   - extra: further options for the kernel.
    ///   - report: called with the reason if the result is nil.
    /// - Returns: nil if the kernel cannot attach it beneath; then nothing is mounted.
    /// - Throws: the kernel refuses the new mount itself.
    func mountBeneath(
        source: String, _ flags: FuseMount.Flags, extra: String?, _ report: (String) -> Void
    ) throws(SessionError) -> (descriptor: Int32, device: String, healing: Healing)? {
        let dead: SharedDescriptor
        let id: UInt64
        do throws(Errno) {
            dead = SharedDescriptor(try Syscall.open(mountpoint, OpenFlag.path))
            id = try Syscall.mountID(of: dead.rawValue)
        } catch { return nil }
        guard let top = MountTable.entry(at: mountpoint), top.id == id, top.type == "fuse.aclfs" else { return nil }
        let made = try FuseMount.mountDetached(source: source, flags: flags, extra: extra)
        let new = SharedDescriptor(rawValue: made.mount)
        do throws(Errno) {
            // With `dontSync` the kernel answers by itself: the new mount has no daemon yet.
            let status = try Syscall.statx(new.rawValue, flags: AtFlag.dontSync)
            try Syscall.attach(mount: new.rawValue, beneath: mountpoint)
            return (made.device, DeviceNumber.text(status.device), Healing(dead: dead, top, new: new))
        } catch {
            close(made.device)
            report("the kernel cannot attach a mount beneath it: \(error) (Linux 6.5 can, if no mounts propagate to the mount point)")
            return nil
        }
    }

    /// - Returns: what is done instead of attaching a mount beneath it, and why.
    func notice(_ reason: String) -> String {
        "\(mountpoint): the dead mount is unmounted before the new one is attached, so the directory below it is exposed until then: "
            + reason
    }
}

extension DeadMount {
    /// A new aclfs mount with a dead one on it.
    final class Healing: Sendable {
        /// O_PATH descriptors. They keep the mounts busy, so they are dropped at the end.
        private let mounts: Lock<(dead: SharedDescriptor, new: SharedDescriptor)?>
        private let deadID: UInt64
        private let deadDevice: String

        init(dead: SharedDescriptor, _ top: MountEntry, new: SharedDescriptor) {
            mounts = Lock((dead, new))
            (deadID, deadDevice) = (top.id, top.device)
        }

        /// Tells whether anything of the dead mount is in use, also after it is detached. nil if the kernel cannot be asked; then it may be.
        var isDeadInUse: (@Sendable () -> Bool)? {
            guard let device = DeviceNumber.parse(deadDevice), let connections = try? FuseConnections(),
                let identity = connections.identity(of: device)
            else { return nil }
            return { connections.identity(of: device) == identity }
        }

        /// Detaches the dead mount. Call when the new one answers; later calls do nothing.
        /// - Throws: the dead mount cannot be detached.
        func finish() throws(Errno) {
            guard let mounts = mounts.withLock({ $0.take() }) else { return }
            try Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }

        /// Leaves one dead mount, as before. Call when the new mount will never answer.
        /// - Parameter top: the topmost mount on the mount point.
        func abandon(_ top: MountEntry?) {
            guard top?.id == deadID, let mounts = mounts.withLock({ $0.take() }) else { return }
            // Aborts the connection. The mount itself stays, because the dead one stands on it.
            try? Syscall.unmount(of: mounts.new.rawValue, flags: UnmountFlag.force)
            try? Syscall.unmount(of: mounts.dead.rawValue, flags: UnmountFlag.detach)
        }
    }
}
