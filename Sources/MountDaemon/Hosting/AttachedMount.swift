import ACLFileSystem
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import ToolSupport

/// A mount that the kernel shows and that somebody must serve.
struct AttachedMount: Sendable {
    /// The backing directory's real path.
    var source: String
    /// As it was called.
    var name: String
    var mountpoint: String
    /// `MAJOR:MINOR`, as the mount table writes it.
    var device: String
    var options: MountOptions
    var profile: SandboxProfile?
    var showsRequests = false
    /// Of /dev/fuse; whoever serves owns it.
    var descriptor: Int32
    /// Of a view for `aclfs sandbox run`.
    var view: View?
    /// If it was put beneath a dead mount, which still stands on it.
    var healing: DeadMount.Healing?

    struct View: Sendable {
        /// The mount that it is a view of; whether that is read-only, say, counts here too, at any time.
        var base: FileSystem
        /// Held as long as it is served.
        var room: MountHost.ViewRoom
    }

    /// The mount point of a view for `aclfs sandbox run`, which stands at no path that the daemon sees.
    static let nowhere = "(view)"

    /// As in `FileStatus.device`.
    var deviceNumber: UInt64? { DeviceNumber.parse(device) }

    /// Takes it away again, unless another mount covers it now. Beneath a dead mount a dead mount stays.
    func detach() {
        let top = MountTable.entry(at: mountpoint)
        if top?.device == device {
            try? Unmounting.perform(mountpoint, lazily: true)
        } else {
            healing?.abandon(top)
        }
    }

    /// It answers: the dead mount that stands on it goes.
    func uncover() {
        do throws(Errno) { try healing?.finish() } catch {
            let text = "\(mountpoint): the dead mount there cannot be taken away: \(error)"
            printError("aclfs: \(text)")
            Journal.record(.warning, text)
        }
    }
}
