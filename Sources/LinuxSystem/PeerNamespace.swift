import CLinux

/// In which user namespace who connected lives. In another an id says less: a confined program has the id of its user, and
/// must not use his rights over a mount (docs/sandbox-run.md).
public enum PeerUserNamespace: Hashable, Sendable {
    case ours
    /// It may not be looked at, as another user's; the ids that it knows are the same as here.
    case alike
    /// Or it cannot be found out.
    case another
}

extension ControlSocket {
    public var peerUserNamespace: PeerUserNamespace {
        guard let peer = try? peer(), peer.pid > 0 else { return .another }
        let process: SharedDescriptor?
        do throws(Errno) { process = try handle() } catch { return .another }
        let found = Self.userNamespace(of: peer.pid)
        // The number was the peer's while it was looked at only if the peer lives still.
        if let process, aclfs_is_process_alive(process.rawValue) != 1 { return .another }
        return found
    }

    /// nil before Linux 6.5, which knows no such handles.
    /// - Throws: if there is no such process any more.
    private func handle() throws(Errno) -> SharedDescriptor? {
        let process = aclfs_control_peer_process(rawValue)
        if process == -Errno.noprotoopt.rawValue { return nil }
        guard process >= 0 else { throw Errno(rawValue: -process) }
        return SharedDescriptor(rawValue: process)
    }

    private static func userNamespace(of pid: Int32) -> PeerUserNamespace {
        guard let ours = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/self/ns/user", flags: 0) else { return .another }
        if let theirs = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/\(pid)/ns/user", flags: 0) {
            return (ours.device, ours.inode) == (theirs.device, theirs.inode) ? .ours : .another
        }
        // Everybody may read which ids it knows.
        guard let ourMap = try? Syscall.readAll(path: "/proc/self/uid_map"),
            let theirMap = try? Syscall.readAll(path: "/proc/\(pid)/uid_map")
        else { return .another }
        return ourMap == theirMap ? .alike : .another
    }
}
