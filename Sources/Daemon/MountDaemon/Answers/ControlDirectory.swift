import ACLFileSystem
import BackingStore
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// The directory of the control socket. It is made before the mount: a directory below the mount point would make the daemon wait for
/// itself.
enum ControlDirectory {
    /// - Returns: nil, with a line in the log, for root's mount over the directory itself, or if it cannot be made.
    /// - Throws: an ordinary user has no directory that other users cannot use. There another user could answer in the daemon's place.
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

    /// Starts the control server of a mount.
    /// - Returns: nil, with a line in the log, if there is no socket. The mount serves without.
    static func start(
        _ fileSystem: FileSystem, _ tree: BackingTree, _ mount: AttachedMount, _ negotiated: NegotiatedFeatures,
        _ watch: MountWatch, in directory: String, host: MountHost
    ) -> ControlServer? {
        var facts = ControlServer.MountFacts(
            source: mount.name, mountpoint: mount.mountpoint, version: ProgramVersion.text,
            paths: { [weak fileSystem] in
                negotiated.status(obstacle: fileSystem?.passthroughObstacle, watchObstacle: fileSystem?.obstacleToWatching)
            },
            sourceReach: { SourceReach(source: mount.source, mountpoint: mount.mountpoint).description },
            kernelWords: { watch.entry.map { KernelMountFlags($0).shown } ?? [] })
        facts.daemon = { [weak host, weak fileSystem] request, descriptors, peer in
            guard let host, let fileSystem else { return .notMine }
            func shown() -> [SharedDescriptor] { MountHost.shown(request, descriptors, peer, on: mount) }
            switch request.command {
            case .places: return host.places(of: mount, to: peer, showing: shown())
            case .shows: return host.shows(request, of: mount, to: peer, showing: shown())
            case .view: return host.view(request, shown(), peer, of: mount, fileSystem)
            default: return host.answer(request, descriptors)
            }
        }
        facts.keeping = { [weak host, weak fileSystem] in
            var keeping = host?.kept?.keeping ?? StatusAnswer.Keeping(process: getpid())
            if let host, let fileSystem { keeping.obstacle = host.obstacleToUpgrade(of: fileSystem) }
            return keeping
        }
        facts.runningSandboxes = { [weak host, weak fileSystem] in
            guard let host, let fileSystem else { return 0 }
            return host.views(of: fileSystem)
        }
        facts.runningContainers = { [weak host, weak fileSystem] in
            guard let host, let fileSystem else { return [] }
            return host.containers(ofViewsOf: fileSystem)
        }
        facts.grants = { [weak host] order, user in host?.answer(order, on: tree, by: user) ?? .notMine }
        let complete = facts
        do throws(Errno) {
            let path = "\(directory)/\(ControlPlace.name(device: mount.device))"
            // Root owns the socket. The threads that answer have the restricted fsuid.
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
