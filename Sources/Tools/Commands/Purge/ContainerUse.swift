import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import SandboxPolicy
import ToolSupport

/// Whether applications run in containers of a mount: what uses their files, and the views that daemons tell of.
///
/// An ordinary user sees only processes of the same user, and may ask only the daemons of the same user's mounts.
struct ContainerUse {
    private struct View {
        var mount: MountEntry
        /// From its home folder.
        var container: [[UInt8]]
    }

    private let mount: MountEntry
    /// Other mounts of the same directory.
    private var twins: [MountEntry] = []
    private var views: [View] = []
    /// The containers of `aclfs sandbox run`, as names from the mount's top.
    private var running: [[[UInt8]]] = []
    /// Daemons that did not say whether a view of the mount is in use, and why.
    private(set) var unknown: [String] = []
    /// The same, because only root and the user who mounted may ask.
    private(set) var isRefused = false

    init(of mount: MountEntry) {
        self.mount = mount
        var round = MountRound()
        for other in MountRound.mounts() {
            // Nothing can use it any more.
            if other.id != mount.id, MountServer.isDead(other) { continue }
            if other.id != mount.id, other.source == mount.source, other.root == mount.root { twins.append(other) }
            do throws(ControlError) {
                let status = try round.ask(other) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
                if other.device == mount.device { running = status.runningContainers ?? [] }
                guard let profile = status.sandbox, let bundle = profile.bundle,
                    let layout = profile.layout.flatMap(ContainerLayout.init)
                else { continue }
                views.append(View(mount: other, container: layout.container(bundle: bundle, home: [])))
            } catch {
                if geteuid() != 0, error.code == Errno.perm.name {
                    isRefused = true
                } else {
                    unknown.append("\(other.path): \(error.message)")
                }
            }
        }
    }

    /// What uses a container; empty if nothing does.
    /// - Parameter container: its path below the mount point.
    func uses(of container: [UInt8]) -> [String] {
        let names: [[UInt8]] = container.dropFirst(mount.path == "/" ? 0 : mount.path.utf8.count).split(separator: 0x2F).map { Array($0) }
        let below: [UInt8] = names.flatMap { [0x2F] + $0 }
        let paths = [container] + twins.map { twin in (twin.path == "/" ? [UInt8]() : Array(twin.path.utf8)) + below }
        var uses = MountHolders(below: paths).processLines
        if running.contains(names) { uses.append("  aclfs sandbox run, in a view of this mount") }
        // Of whichever home: a mount of another directory may show the same container.
        for view in views where names.suffix(view.container.count) == view.container[...] {
            uses += MountHolders(of: view.mount).processLines
        }
        return uses + unknown.map { "  unknown whether a view uses it: \($0)" }
    }
}
