import BackingStore
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import SandboxPolicy
import ToolSupport

/// Hands a mount over to the daemon that serves the same backing directory, or one inside or around it. Only one daemon can invalidate
/// on all mounts of a tree at once (docs/internals/coherence.md R14).
enum HandOver {
    /// - Returns: a connection to the caller's daemon that serves the tree; nil if there is none.
    static func daemon(for mount: PreparedMount) -> ControlClient? {
        guard let descriptor = try? mount.tree.descriptor(of: mount.tree.root) else { return nil }
        return daemon(serving: descriptor.rawValue)
    }

    /// The same for a backing directory that is open.
    static func daemon(serving directory: Int32) -> ControlClient? {
        let question = ServesMessage(ancestors: ServedDirectory.ancestors(directory))
        // By the sockets, not by the mount table: the daemon may serve another mount namespace.
        for device in ControlPlace.devices(of: geteuid()) {
            // A daemon that does not answer in time must not keep others from mounting.
            guard let client = try? ControlClient(device: device, owner: geteuid(), timeout: 1000),
                let answer = try? client.ask(question), answer.serves
            else { continue }
            // The hand-over itself may take longer.
            return try? ControlClient(device: device, owner: geteuid())
        }
        return nil
    }

    /// Mounts, and hands the mount to the daemon.
    /// - Returns: false if the daemon gives no answer or EAGAIN, for example because its last mount has just ended. Then nothing
    ///   is mounted.
    /// - Throws: the mount failed.
    static func perform(
        _ mount: PreparedMount, _ request: MountRequest, to client: ControlClient
    ) throws(MountFailure) -> Bool {
        // The log has the lines of this mount, as of a mount with its own daemon.
        if !request.foreground { Journal.useSyslog() }
        let attached = try mount.attach(request)
        defer { close(attached.descriptor) }
        do throws(ControlError) {
            guard let directory = try? mount.tree.descriptor(of: mount.tree.root) else {
                throw ControlError("the source cannot be opened")
            }
            let message = ServeMessage(
                source: attached.source, name: attached.name, mountpoint: attached.mountpoint, device: attached.device,
                metadata: mount.tree.metadataName, options: request.optionTexts, profile: mount.profile.map { ProfileForm($0) })
            let handed = [attached.descriptor, directory.rawValue] + (mount.identities.map { [$0.directory.rawValue] } ?? [])
            _ = try client.ask(message, with: handed)
            attached.finishHealing()
            say(mount, request)
            return true
        } catch {
            attached.detach()
            if error.code == nil || error.code == Errno.again.name { return false }
            throw MountFailure(
                status: MountExit.systemError,
                message: "the daemon that already serves this directory refuses the mount: \(error.message)")
        }
    }

    /// A mount that is not handed over says all this itself.
    private static func say(_ mount: PreparedMount, _ request: MountRequest) {
        for remark in request.remarks { Journal.note(.info, remark) }
        for remark in mount.remarks { Journal.record(.warning, remark) }
        mount.warnOfShortLists()
        mount.warnOfPosixACLs(request.options)
        mount.warnOfIgnoredRules(request.options)
        mount.noteSharedSource(request.options)
    }

    /// With `-f`: waits until the mount has ended. SIGTERM and SIGINT unmount it.
    static func waitWhileMounted(_ mountpoint: String) throws(MountFailure) {
        guard let table = try? Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly) else { return }
        let device = MountTable.entry(at: mountpoint)?.device
        try MountHost.onEndSignals { try? Unmounting.perform(mountpoint, lazily: true) }
        while device != nil, MountTable.entries().contains(where: { $0.device == device }) {
            var events = pollfd(fd: table.rawValue, events: Int16(POLLPRI), revents: 0)
            poll(&events, 1, -1)
        }
    }
}
