import CLinux

extension ControlSocket {
    /// Whether who connected may live in another user namespace than this process. There an id says less: a confined
    /// program has the id of its user, and must not use his rights over a mount (docs/sandbox-run.md).
    ///
    /// What cannot be found out counts as yes.
    public var peerIsElsewhere: Bool {
        guard let peer = try? peer(), peer.pid > 0 else { return true }
        let process: SharedDescriptor?
        do throws(Errno) { process = try handle() } catch { return true }
        let isElsewhere = Self.namespaceDiffers(peer.pid)
        // The number was the peer's while it was looked at only if the peer lives still.
        if let process { return isElsewhere || aclfs_is_process_alive(process.rawValue) != 1 }
        return isElsewhere
    }

    /// nil before Linux 6.5, which knows no such handles.
    /// - Throws: if there is no such process any more.
    private func handle() throws(Errno) -> SharedDescriptor? {
        let process = aclfs_control_peer_process(rawValue)
        if process == -Errno.noprotoopt.rawValue { return nil }
        guard process >= 0 else { throw Errno(rawValue: -process) }
        return SharedDescriptor(rawValue: process)
    }

    private static func namespaceDiffers(_ pid: Int32) -> Bool {
        guard let ours = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/self/ns/user", flags: 0) else { return true }
        if let theirs = try? Syscall.statxAt(Syscall.workingDirectory, "/proc/\(pid)/ns/user", flags: 0) {
            return (ours.device, ours.inode) != (theirs.device, theirs.inode)
        }
        // Another user's may not be looked at, but everybody may read which ids it knows.
        guard let ourMap = try? Syscall.readAll(path: "/proc/self/uid_map"),
            let theirMap = try? Syscall.readAll(path: "/proc/\(pid)/uid_map")
        else { return true }
        return ourMap != theirMap
    }
}
