import ACLFileSystem
import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// Where the socket is going to lie. It is made ready before anything is mounted: an environment may name a place
/// below the mount point, and there the daemon would wait for itself.
enum ControlDirectory {
    /// - Returns: nil for root's mount over the place itself, or where it cannot be made; that is said.
    /// - Throws: for an ordinary user's mount without a place that is that user's alone: whoever has it could answer in place of the
    ///   daemon, and the mount could be neither asked nor changed.
    static func prepare(mountpoint: String) throws(MountFailure) -> String? {
        do throws(ControlPlace.Obstacle) {
            let path = try ControlPlace.prepareDirectory(outside: mountpoint)
            let directory = (try? MountPath.real(path)) ?? path
            if !MountPath.isInside(directory, mountpoint) { return directory }
            Journal.note(
                .warning,
                "no control socket: \(directory) lies below the mount point; explain, status and remount will not work")
        } catch {
            guard geteuid() == 0 else {
                throw MountFailure(
                    status: MountExit.systemError, message: "there is no place for the control socket of this mount: \(error)")
            }
            Journal.note(.warning, "no control socket: \(error); explain, status and remount will not work")
        }
        return nil
    }

    /// A mount without its socket serves all the same; the reason is said.
    static func start(
        _ fileSystem: FileSystem, _ tree: BackingTree, _ mount: AttachedMount, _ negotiated: NegotiatedPaths,
        _ watch: MountWatch, in directory: String, host: MountHost
    ) -> ControlServer? {
        var facts = ControlServer.MountFacts(
            source: mount.name, mountpoint: mount.mountpoint, version: ProgramVersion.text,
            paths: { [weak fileSystem] in negotiated.members(obstacle: fileSystem?.passthroughObstacle) },
            sourceReach: { SourceReach(source: mount.source, mountpoint: mount.mountpoint).description },
            kernelWords: { watch.entry.map { KernelMountFlags($0).shown } ?? [] })
        facts.daemon = { [weak host, weak fileSystem] request, descriptors, peer in
            guard let host, let fileSystem else { return .notMine }
            func shown() -> [SharedDescriptor] { MountHost.shown(request, descriptors, peer, on: mount) }
            switch request["command"]?.string {
            case "places": return host.places(of: mount, to: peer, showing: shown())
            case "shows": return host.shows(request, of: mount, to: peer, showing: shown())
            case "view": return host.view(request, shown(), peer, of: mount, fileSystem)
            default: return host.answer(request, descriptors)
            }
        }
        facts.runningSandboxes = { [weak host, weak fileSystem] in
            guard let host, let fileSystem else { return 0 }
            return host.views(of: fileSystem)
        }
        facts.grants = { [weak host] order, user in host?.answer(order, on: tree, by: user) ?? .notMine }
        let complete = facts
        do throws(Errno) {
            let path = "\(directory)/\(ControlPlace.name(device: mount.device))"
            // The socket is root's; the threads that answer are not to be.
            let server = try FileSystemUser.asRoot { () throws(Errno) in
                try ControlServer(fileSystem, at: path, owner: geteuid(), facts: complete)
            }
            try server.start()
            return server
        } catch {
            Journal.note(.warning, "no control socket: \(error); explain, status and remount will not work")
            return nil
        }
    }
}
