import ACLFileSystem
import ACLFormats
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// What the kernel agreed to, known once it has introduced itself.
final class NegotiatedPaths: Sendable {
    private let agreed = Lock<Negotiated?>(nil)
    private let masked: Set<String>
    private let isStrict: Bool
    private let passthrough: MountOptions.Passthrough

    init(_ options: MountOptions) {
        masked = Set(options.maskedKernelFeatures)
        passthrough = options.passthrough
        isStrict = options.cache == .strict || options.cache == .seconds(0)
    }

    private func paths(_ agreed: Negotiated, obstacle: String? = nil) -> [KernelPath] {
        KernelPath.all(agreed, masked: masked, isStrict: isStrict, passthrough: passthrough, obstacle: obstacle)
    }

    func set(_ negotiated: Negotiated) {
        agreed.withLock { $0 = negotiated }
        Journal.note("kernel paths: " + paths(negotiated).map(\.line).joined(separator: ", "))
    }

    /// Whether the kernel has introduced itself: the mount has been served.
    var areKnown: Bool { agreed.withLock { $0 != nil } }

    /// Which ways run now, for `aclfs status`.
    /// - Parameter obstacle: why there is no passthrough although the kernel agreed to it.
    func members(obstacle: String?) -> [JSON.Member] {
        guard let agreed = agreed.withLock({ $0 }) else { return [] }
        return [
            .init("protocol", .string("\(agreed.kernelMajor).\(agreed.kernelMinor)")),
            .init("transport", .string(agreed.uring ? "uring" : "dev")),
            .init("max_write", .integer(Int64(agreed.maxWrite))),
            .init("parallel_directory_operations", .bool(agreed.parallelDirectoryOperations)),
        ] + paths(agreed, obstacle: obstacle).map(\.member)
    }
}

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
                "no control socket: \(directory) lies below the mount point; explain, status and remount will not work")
        } catch {
            guard geteuid() == 0 else {
                throw MountFailure(
                    status: MountExit.systemError, message: "there is no place for the control socket of this mount: \(error)")
            }
            Journal.note("no control socket: \(error); explain, status and remount will not work")
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
            Journal.note("no control socket: \(error); explain, status and remount will not work")
            return nil
        }
    }
}
