import ACLFileSystem
import Authorization
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import ToolSupport

/// A mount that exists in the kernel and needs a daemon to serve it.
struct AttachedMount: Sendable {
    /// The backing directory's real path.
    var source: String
    /// The source as the caller wrote it.
    var name: String
    var mountpoint: String
    /// `MAJOR:MINOR`, as in the mount table.
    var device: String
    var options: MountOptions
    var profile: SandboxProfile?
    /// What translates identities from elsewhere; nil: nothing does. A view uses its base's.
    var identities: IdentityFile?
    /// The texts that `options` was parsed from.
    var optionTexts: [String] = []
    var showsRequests = false
    /// Of /dev/fuse. The session owns it.
    var descriptor: Int32
    /// Set if this is a view for `aclfs sandbox run`.
    var view: View?
    /// Set if a dead mount still stands on it.
    var healing: DeadMount.Healing?

    struct View: Sendable {
        /// The mount that it is a view of. Its state, such as read-only, holds for the view at any time.
        var base: FileSystem
        /// Held as long as the view is served.
        var slot: MountHost.ViewSlot
        /// Capabilities of root, who asked for it.
        var lent: Capabilities
    }

    /// The mount point of a view for `aclfs sandbox run`, which has no path in the daemon's mount namespace.
    static let nowhere = "(view)"

    /// As in `FileStatus.device`.
    var deviceNumber: UInt64? { DeviceNumber.parse(device) }

    /// Unmounts it if it is the topmost mount there. Beneath a dead mount, that one is detached, and this one stays in its place without a
    /// daemon.
    func detach() {
        let top = MountTable.entry(at: mountpoint)
        if top?.device == device {
            try? Unmounting.perform(mountpoint, lazily: true)
        } else {
            healing?.abandon(top)
        }
    }

    /// Detaches the dead mount on it. Call when the new one answers.
    func finishHealing() {
        do throws(Errno) { try healing?.finish() } catch {
            let text = "\(mountpoint): the dead mount on top of the new one cannot be unmounted: \(error); try umount \(mountpoint)"
            printError("aclfs: \(text)")
            Journal.record(.warning, text)
        }
    }
}
