import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import Mounting
import SandboxPolicy
import ToolSupport

/// A second mount of a backing directory, or one of a directory inside or around it, is served by the daemon of the
/// first: only then can a change through one be true for the other at once (docs/coherence.md R14).
enum HandOver {
    /// The daemon of this user that serves the same tree, if there is one.
    static func daemon(for mount: PreparedMount) -> ControlClient? {
        guard let descriptor = try? mount.tree.descriptor(of: mount.tree.root) else { return nil }
        let members: [JSON.Member] = [.init("ancestors", .array(MountHost.ancestors(descriptor.rawValue).map { .string($0) }))]
        // By the sockets and not by the mount table: the daemon may serve another mount namespace.
        for device in ControlPlace.devices(of: geteuid()) {
            // One that does not answer at once cannot take a mount either; it must not keep others from mounting.
            guard let client = try? ControlClient(device: device, owner: geteuid(), timeout: 1000),
                let answer = try? client.ask("serves", members), answer["serves"]?.bool == true
            else { continue }
            // To take a mount may take longer.
            return try? ControlClient(device: device, owner: geteuid())
        }
        return nil
    }

    /// Mounts, and has the daemon serve it.
    /// - Returns: false if the daemon was about to end, as it does when its last mount was just taken away; then nothing
    ///   is mounted.
    static func perform(
        _ mount: PreparedMount, _ request: MountRequest, to client: ControlClient
    ) throws(MountFailure) -> Bool {
        // As the daemon says it that a mount of its own would have.
        if !request.foreground { Journal.useSyslog() }
        for remark in request.remarks { Journal.note(.info, remark) }
        for remark in mount.remarks { Journal.record(.warning, remark) }
        mount.warnOfShortLists()
        mount.warnOfPosixACLs()
        mount.noteSharedSource(request.options)
        let attached = try mount.attach(request)
        defer { close(attached.descriptor) }
        do throws(ControlError) {
            guard let directory = try? mount.tree.descriptor(of: mount.tree.root) else {
                throw ControlError("the source is gone")
            }
            var members: [JSON.Member] = [
                .init("source", .string(attached.source)), .init("name", .string(attached.name)),
                .init("mountpoint", .string(attached.mountpoint)), .init("device", .string(attached.device)),
                .init("metadata", .string(mount.tree.metadataName)),
                .init("options", .array(request.optionTexts.map { .string($0) })),
            ]
            if let profile = mount.profile { members.append(.init("profile", profile.json)) }
            _ = try client.ask("serve", members, with: [attached.descriptor, directory.rawValue])
            attached.uncover()
            return true
        } catch {
            attached.detach()
            if error.code == nil || error.code == Errno.again.name { return false }
            throw MountFailure(
                status: MountExit.systemError,
                message: "the daemon that serves this directory already does not take the mount: \(error.message)")
        }
    }

    /// For `-f`: until the mount is gone, which a signal that ends us sees to.
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
