import FuseSession
import Glibc
import LinuxSystem
import ToolSupport

/// A mount of ours on the mount point whose daemon died. The new mount is put beneath it, and it is detached when that one answers: at
/// no moment does the path lead to what both cover (docs/mounting.md "When the daemon has died").
package struct DeadMount: Sendable {
    let mountpoint: String
    /// Whether the mount is asked for with `kernel_features=-beneath`.
    let isMasked: Bool

    /// - Returns: nil if nothing is dead there, or something that is not ours.
    static func at(_ mountpoint: String, isMasked: Bool) -> DeadMount? {
        guard MountServer.isDead(mountpoint), MountTable.entry(at: mountpoint)?.type == "fuse.aclfs" else { return nil }
        return DeadMount(mountpoint: mountpoint, isMasked: isMasked)
    }

    /// Opens the source, whatever the dead mount covers.
    /// - Returns: nil if that needs the dead mount taken away first, which `said` then tells why.
    func openSource(
        _ source: String, _ said: (String) -> Void
    ) throws(MountFailure) -> (path: String, directory: SharedDescriptor)? {
        if geteuid() != 0 || isMasked {
            said(notice(isMasked ? "hidden by kernel_features" : "only root can put a mount beneath another one"))
            return nil
        }
        let found: Result<CoveredDirectory, Errno>
        do throws(Errno) { found = try CoveredDirectory.look(for: source, below: mountpoint) } catch {
            said(notice("what it covers cannot be looked at otherwise: \(error)"))
            return nil
        }
        let covered: CoveredDirectory
        do throws(Errno) { covered = try found.get() } catch {
            throw MountFailure(status: MountExit.failed, message: "source \(source): \(error)")
        }
        do throws(Errno) {
            // Beneath each of these is another dead one, which refuses as well.
            for _ in 1..<max(1, covered.depth) { try Unmounting.perform(mountpoint, lazily: true) }
            return (covered.path, SharedDescriptor(try covered.open(mountpoint)))
        } catch {
            guard error == .opnotsupp || error == .perm else {
                throw MountFailure(status: MountExit.failed, message: "source \(source): \(error)")
            }
            said(notice("there is no other way to the source, which it covers"))
            return nil
        }
    }

    /// Makes the new mount and puts it beneath.
    /// - Returns: nil if the kernel cannot; then nothing is mounted, and `said` has told why.
    /// - Throws: what the kernel has against the new mount itself.
    package func mountBeneath(
        source: String, _ flags: FuseMount.Flags, extra: String?, _ said: (String) -> Void
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
            // Asks the kernel only: nobody answers on the new mount yet.
            let status = try Syscall.statx(new.rawValue, flags: AtFlag.dontSync)
            try Syscall.attach(mount: new.rawValue, beneath: mountpoint)
            return (made.device, DeviceNumber.text(status.device), Healing(dead: dead, id, new: new))
        } catch {
            close(made.device)
            said(
                notice(
                    "this kernel cannot put a mount beneath it: \(error) (Linux 6.5 and later can, but not where mounts propagate onto it)")
            )
            return nil
        }
    }

    private func notice(_ reason: String) -> String {
        "\(mountpoint): the dead mount there is taken away before the new one stands, and what it covers is open until then: \(reason)"
    }
}
