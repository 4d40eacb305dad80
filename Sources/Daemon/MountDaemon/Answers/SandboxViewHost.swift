import ACLFileSystem
import ACLFormats
import ControlProtocol
import FuseMounts
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import ToolSupport

/// Answers `aclfs sandbox run`: the places to hide, and a view of one of the mounts.
///
/// Any client may ask that proves by a descriptor of the mount's top that it reaches the mount. A view only restricts that.
extension MountHost {
    /// - Returns: the descriptors of the message. A client that may send none gives the number of its own, which is looked up in /proc.
    static func shown(
        _ request: ReceivedRequest, _ sent: [SharedDescriptor], _ peer: ControlSocket.Peer, on mount: AttachedMount
    ) -> [SharedDescriptor] {
        guard sent.isEmpty, peer.userNamespace != .another, let number = request.top else { return sent }
        let tops = Set(MountTable.entries().filter { $0.device == mount.device && $0.root == "/" }.map { $0.id })
        // Only root may look up a descriptor of another user's process.
        let top = try? FileSystemUser.asRoot { () throws(Errno) in peer.named(by: number) { tops.contains($0) } }
        return top.flatMap { $0 }.map { [$0] } ?? []
    }

    /// Answers `places`: to root, to the user who mounted, and to a client that reaches the mount, since each may run a sandbox. `fsname=`
    /// does not make the source a secret.
    func places(
        of mount: AttachedMount, to peer: ControlSocket.Peer, showing descriptors: [SharedDescriptor]
    ) -> ControlServer.MountFacts.DaemonAnswer {
        guard Self.mayKnowPlaces(of: mount, peer, descriptors) else { return Self.keptPlaces }
        do throws(MountFailure) {
            return .done(PlacesAnswer(try sandboxPlaces(of: mount, to: peer), isConfined: mount.profile != nil))
        } catch {
            return .failed(.inval, error.message)
        }
    }

    private static let keptPlaces = ControlServer.MountFacts.DaemonAnswer.failed(
        .perm, "only root, the user who mounted and a caller that opens the top of the mount may ask where the backing directory is")

    private static func mayKnowPlaces(
        of mount: AttachedMount, _ peer: ControlSocket.Peer, _ descriptors: [SharedDescriptor]
    ) -> Bool {
        peer.uid == 0 || peer.uid == geteuid() || descriptors.count == 1 && reachedMount(descriptors[0].rawValue, mount) != nil
    }

    /// - Parameter peer: gets the directory of the grants if they are its user's. Modes protect those of others.
    private func sandboxPlaces(of mount: AttachedMount, to peer: ControlSocket.Peer) throws(MountFailure) -> SandboxPlaces {
        var places = try sandboxPlaces(of: mount)
        guard peer.uid == 0 || peer.uid == geteuid(), let store = store.closedPlace else { return places }
        do throws(Errno) { places.stores = try store.hidingPlace().map { [$0] } ?? [] } catch {
            throw MountFailure(
                status: MountExit.systemError,
                message: "cannot make or open the directory of grants \(store.path), which must be hidden: \(error)")
        }
        return places
    }

    private func sandboxPlaces(of mount: AttachedMount) throws(MountFailure) -> SandboxPlaces {
        let served = mounts
        guard let tree = served.first(where: { $0.mount.device == mount.device })?.tree else {
            throw MountFailure(status: MountExit.systemError, message: "the mount is being unmounted")
        }
        return try SandboxPlaces(of: mount, tree, among: served)
    }

    /// Answers `view`: serves a new view of a mount.
    func view(
        _ request: ReceivedRequest, _ descriptors: [SharedDescriptor], _ peer: ControlSocket.Peer, of mount: AttachedMount,
        _ fileSystem: FileSystem
    ) -> ControlServer.MountFacts.DaemonAnswer {
        // Only root's daemon can make a mount. Another one gets the mount from its own user.
        let isMaker = geteuid() == 0
        guard isMaker || peer.uid == geteuid() else {
            return .failed(.perm, "the mount was made by user \(geteuid()); only this user can run a sandbox on it")
        }
        if let profile = mount.profile {
            return .failed(
                .inval,
                "the mount is confined by the profile \(escapedName(profile.name.utf8)) already; use a mount without a profile")
        }
        guard descriptors.count == (isMaker ? 1 : 2), let message = try? ViewMessage(reading: request) else {
            return .failed(.inval, ViewMessage.incomplete)
        }
        guard let entry = Self.reachedMount(descriptors[0].rawValue, mount) else {
            return .failed(
                .perm,
                "this is not the top of the mount in the mount namespace of its daemon: run the command there, and on the mount "
                    + "itself, not on a bind mount"
            )
        }
        do throws(MountFailure) {
            let profile: SandboxProfile
            do {
                profile = try message.profile.profile()
                _ = try profile.table()
            } catch { throw MountFailure(status: MountExit.failed, message: "profile: \(error)") }
            let places = try sandboxPlaces(of: mount, to: peer)
            let base = AttachedMount.View(
                base: fileSystem, slot: try ViewSlot(self, of: peer), lent: fileSystem.judge.capabilities(of: peer))
            let view: (device: String, descriptor: SharedDescriptor?)
            if isMaker {
                view = try makeView(of: mount, entry, profile, base)
            } else {
                guard let device = message.device, DeviceNumber.parse(device) != nil,
                    let descriptor = try? Syscall.dup(descriptors[1].rawValue).release()
                else { throw MountFailure(status: MountExit.systemError, message: ViewMessage.withoutDevice) }
                try serveView(device, descriptor, of: mount, profile, base)
                view = (device, nil)
            }
            let answer = ViewAnswer(places, device: view.device)
            return view.descriptor.map { .handed(answer, [$0]) } ?? .done(answer)
        } catch { return .failed(isEnding ? .again : .inval, error.message) }
    }

    /// Looks a descriptor up in this process's mount table, without a request to this daemon itself. Mounts of other namespaces are not
    /// found.
    /// - Returns: the entry of the mount if the descriptor is open on its top.
    private static func reachedMount(_ descriptor: Int32, _ mount: AttachedMount) -> MountEntry? {
        guard let flags = try? Syscall.openFlags(of: descriptor), flags & OpenFlag.path != 0,
            let id = try? Syscall.mountID(of: descriptor),
            let path = try? Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(descriptor)"),
            let entry = MountTable.entries().first(where: { $0.id == id && $0.device == mount.device && $0.root == "/" })
        else { return nil }
        // An object below the top has a longer path.
        return entry.path == String(decoding: path, as: UTF8.self) ? entry : nil
    }

    private func makeView(
        of mount: AttachedMount, _ entry: MountEntry, _ profile: SandboxProfile, _ base: AttachedMount.View
    ) throws(MountFailure) -> (device: String, descriptor: SharedDescriptor?) {
        let made: (device: Int32, mount: Int32)
        do throws(Errno) {
            // Only root may open /dev/fuse for such a mount.
            made = try FileSystemUser.asRoot { () throws(Errno) in
                let contexts = mount.options.contexts
                do throws(SessionError) {
                    return try FuseMount.mountDetached(
                        source: entry.source, flags: FuseMount.Flags(entry),
                        extra: contexts.isEmpty ? nil : contexts.joined(separator: "\n"))
                } catch { throw Errno(rawValue: error.errno) }
            }
        } catch { throw Self.failure("\(error)") }
        let shown = SharedDescriptor(rawValue: made.mount)
        // With `dontSync` the kernel answers by itself: the new mount has no daemon yet.
        guard let status = try? Syscall.statx(shown.rawValue, flags: AtFlag.dontSync) else {
            close(made.device)
            throw Self.failure("the device number of the new mount cannot be read")
        }
        let device = DeviceNumber.text(status.device)
        try serveView(device, made.device, of: mount, profile, base)
        return (device, shown)
    }

    private static func failure(_ what: String) -> MountFailure {
        MountFailure(status: MountExit.systemError, message: "cannot make a mount for the sandbox: \(what)")
    }

    /// - Parameter descriptor: of /dev/fuse. This function owns it.
    private func serveView(
        _ device: String, _ descriptor: Int32, of mount: AttachedMount, _ profile: SandboxProfile,
        _ base: AttachedMount.View
    ) throws(MountFailure) {
        guard let tree = mounts.first(where: { $0.mount.device == mount.device })?.tree else {
            close(descriptor)
            throw Self.failure("the mount is being unmounted")
        }
        var options = mount.options
        // Only the ordinary user who made a view may use it.
        options.allowOther = geteuid() == 0
        let view = AttachedMount(
            source: mount.source, name: mount.name, mountpoint: AttachedMount.nowhere, device: device, options: options,
            profile: profile, showsRequests: mount.showsRequests, descriptor: descriptor, view: base)
        let isServing = WorkQueue<Bool>(capacity: 2)
        try serve(view, tree: tree) { isServing.add($0) }
        guard isServing.next() == true else { throw Self.failure("it ended before the kernel sent its first request (FUSE_INIT)") }
    }

    /// Answers `shows`: whether this mount shows a place of another daemon's share, a directory of grants or control sockets, or
    /// processes or control groups. Guesses would reveal the backing directory, so only the clients of `places` get an answer.
    func shows(
        _ request: ReceivedRequest, of mount: AttachedMount, to peer: ControlSocket.Peer, showing descriptors: [SharedDescriptor]
    ) -> ControlServer.MountFacts.DaemonAnswer {
        guard Self.mayKnowPlaces(of: mount, peer, descriptors) else { return Self.keptPlaces }
        guard let asked = try? ShowsMessage(reading: request).places else { return .failed(.inval, ShowsMessage.missing) }
        do throws(MountFailure) {
            let own = try sandboxPlaces(of: mount)
            let shown = mount.options.crossMounts ? own.backing : own.backing.filter(\.isSource)
            func isSeen(_ place: SandboxPlaces.Place) -> Bool {
                shown.contains { own in
                    own.device == place.device && (own.names.starts(with: place.names) || place.names.starts(with: own.names))
                }
            }
            return .done(
                ShowsAnswer(
                    shows: asked.backing.contains(where: isSeen), stores: asked.stores.contains(where: isSeen),
                    controls: own.showsControls))
        } catch { return .failed(.inval, error.message) }
    }
}
