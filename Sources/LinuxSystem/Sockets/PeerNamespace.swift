import CLinux

/// In which user namespace the other end lives. In another an id says less: a confined program has the id of its user, and
/// must not use his rights over a mount, nor answer as his daemon (docs/sandbox-run.md).
public enum PeerUserNamespace: Hashable, Sendable {
    case ours
    /// It may not be looked at, as another user's; the ids that it knows are the same as here, and so many that no ordinary
    /// user makes a namespace that knows them.
    case alike
    /// Or it cannot be found out.
    case another
}

extension ControlSocket {
    /// Of who connected, or of who listens.
    public var peerUserNamespace: PeerUserNamespace { seenUserNamespace ?? .another }

    /// nil if nothing of the process is seen: where /proc hides those of others, or from within a process namespace.
    public var seenUserNamespace: PeerUserNamespace? {
        guard let peer = try? peer() else { return .another }
        let process: SharedDescriptor?
        do throws(Errno) { process = try handle() } catch { return .another }
        if let process, let theirs = try? Self.userNamespace(of: process) { return Self.compared(theirs) }
        guard peer.pid > 0 else { return nil }
        let found = Self.userNamespace(of: peer.pid)
        // The number was the peer's while it was looked at only if the peer lives still.
        if let process, aclfs_is_process_alive(process.rawValue) != 1 { return .another }
        return found
    }

    /// nil before Linux 6.5, which knows no such handles.
    /// - Throws: if there is no such process any more.
    func handle() throws(Errno) -> SharedDescriptor? {
        let process = aclfs_control_peer_process(rawValue)
        if process == -Errno.noprotoopt.rawValue { return nil }
        guard process >= 0 else { throw Errno(rawValue: -process) }
        return SharedDescriptor(rawValue: process)
    }

    /// Errors: before Linux 6.11, and of a process that may not be looked at.
    private static func userNamespace(of process: SharedDescriptor) throws(Errno) -> FileStatus {
        let namespace = aclfs_user_namespace(process.rawValue)
        guard namespace >= 0 else { throw Errno(rawValue: -namespace) }
        // Bound: what is made in the middle of an expression may be closed before the call.
        let descriptor = OwnedDescriptor(rawValue: namespace)
        return try Syscall.statx(descriptor.rawValue)
    }

    private static func compared(_ theirs: FileStatus) -> PeerUserNamespace {
        guard let ours = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/self/ns/user", flags: 0) else { return .another }
        return (ours.device, ours.inode) == (theirs.device, theirs.inode) ? .ours : .another
    }

    private static func userNamespace(of pid: Int32) -> PeerUserNamespace? {
        if let theirs = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/\(pid)/ns/user", flags: 0) {
            return compared(theirs)
        }
        guard let ourMap = try? Syscall.readAll(path: "/proc/self/uid_map") else { return .another }
        // Everybody who sees it may read which ids it knows.
        guard let theirMap = try? Syscall.readAll(path: "/proc/\(pid)/uid_map") else { return nil }
        return ourMap == theirMap && !isOfOne(ourMap) ? .alike : .another
    }

    /// A map of one id is what anybody may write for a namespace of his own.
    private static func isOfOne(_ map: [UInt8]) -> Bool {
        let lines = map.split(separator: UInt8(ascii: "\n"))
        guard lines.count == 1 else { return lines.isEmpty }
        let count = lines[0].split(separator: UInt8(ascii: " ")).last.map { String(decoding: $0, as: UTF8.self) }
        return count.flatMap { UInt64($0) } ?? 1 <= 1
    }
}
