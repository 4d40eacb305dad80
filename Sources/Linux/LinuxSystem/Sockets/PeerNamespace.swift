import CLinux

/// The user namespace of the peer. In another namespace an id says less: a confined program has its user's id, but must not use the
/// user's rights over a mount, nor answer as the user's daemon (docs/guide/sandbox-run.md).
public enum PeerUserNamespace: Hashable, Sendable {
    case same
    /// The namespace cannot be compared, as for another user's process. Its ids are mapped as here, and are more than one: an
    /// ordinary user cannot make such a namespace.
    case alike
    /// Another one, or an unknown one.
    case another
}

extension ControlSocket {
    /// The namespace of the process that connected, or of the one that listens.
    public var peerUserNamespace: PeerUserNamespace { seenUserNamespace ?? .another }

    /// nil if the process is invisible: /proc hides those of other users, or this process is in a process namespace.
    public var seenUserNamespace: PeerUserNamespace? {
        guard let peer = try? peer() else { return .another }
        let process: SharedDescriptor?
        do throws(Errno) { process = try handle() } catch { return .another }
        if let process, let theirs = try? Self.userNamespace(of: process) { return Self.compared(theirs) }
        guard peer.pid > 0 else { return nil }
        let found = Self.userNamespace(of: peer.pid)
        // The number was the peer's during the look-up only if the peer still lives.
        if let process, aclfs_is_process_alive(process.rawValue) != 1 { return .another }
        return found
    }

    /// A pidfd of the peer; nil before Linux 6.5.
    /// - Throws: if there is no such process any more.
    func handle() throws(Errno) -> SharedDescriptor? {
        let process = aclfs_control_peer_process(rawValue)
        if process == -Errno.noprotoopt.rawValue { return nil }
        guard process >= 0 else { throw Errno(rawValue: -process) }
        return SharedDescriptor(rawValue: process)
    }

    /// - Throws: before Linux 6.11, and for a process that may not be inspected.
    private static func userNamespace(of process: SharedDescriptor) throws(Errno) -> FileStatus {
        let namespace = aclfs_user_namespace(process.rawValue)
        guard namespace >= 0 else { throw Errno(rawValue: -namespace) }
        // Bound to a name: a temporary may be closed before the call.
        let descriptor = OwnedDescriptor(rawValue: namespace)
        return try Syscall.statx(descriptor.rawValue)
    }

    private static func compared(_ theirs: FileStatus) -> PeerUserNamespace {
        guard let own = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/self/ns/user", flags: 0) else { return .another }
        return (own.device, own.inode) == (theirs.device, theirs.inode) ? .same : .another
    }

    private static func userNamespace(of pid: Int32) -> PeerUserNamespace? {
        if let theirs = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/\(pid)/ns/user", flags: 0) {
            return compared(theirs)
        }
        guard let ownMap = try? Syscall.readAll(path: "/proc/self/uid_map") else { return .another }
        // The map is readable by every process that sees the directory.
        guard let theirMap = try? Syscall.readAll(path: "/proc/\(pid)/uid_map") else { return nil }
        return ownMap == theirMap && !isOfOne(ownMap) ? .alike : .another
    }

    /// Any user may write a map of one id for an own namespace.
    private static func isOfOne(_ map: [UInt8]) -> Bool {
        let lines = map.split(separator: UInt8(ascii: "\n"))
        guard lines.count == 1 else { return lines.isEmpty }
        let count = lines[0].split(separator: UInt8(ascii: " ")).last.map { String(decoding: $0, as: UTF8.self) }
        return count.flatMap { UInt64($0) } ?? 1 <= 1
    }
}
