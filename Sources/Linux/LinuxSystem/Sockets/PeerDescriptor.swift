import CLinux

extension ControlSocket.Peer {
    /// The object of a descriptor of the peer, if it is an O_PATH descriptor of an expected mount.
    ///
    /// The object is opened again and the descriptor is not sent. A descriptor of another user must be closed again, and closing
    /// waits for the server of the file. An O_PATH descriptor sends no request, from its opening to its end.
    /// - Parameters:
    ///   - number: the descriptor's number in the peer.
    ///   - isAwaited: whether a mount id is the expected one.
    public func named(by number: Int64, on isAwaited: (UInt64) -> Bool) -> SharedDescriptor? {
        guard pid > 0, number >= 0,
            let found = try? Syscall.open("/proc/\(pid)", OpenFlag.path | OpenFlag.directory)
        else { return nil }
        // The process that is there now: its number may be reused, or it may execute a program of another user.
        let process = SharedDescriptor(found)
        guard isPeers(process), let notes = try? Syscall.openat(process.rawValue, "fdinfo/\(number)", OpenFlag.readOnly),
            let text = try? Syscall.readAll(notes.rawValue, limit: 4096),
            let id = Syscall.descriptorNote("mnt_id:", in: text).flatMap({ UInt64($0) }), isAwaited(id),
            let flags = Syscall.descriptorNote("flags:", in: text).flatMap({ Int32($0, radix: 8) }),
            flags & OpenFlag.path != 0,
            let opened = try? Syscall.openat(process.rawValue, "fd/\(number)", OpenFlag.path)
        else { return nil }
        let descriptor = SharedDescriptor(opened)
        return isPeers(process) ? descriptor : nil
    }

    /// Whether the process runs for the user who connected.
    private func isPeers(_ process: SharedDescriptor) -> Bool {
        (try? Syscall.statxAt(process.rawValue, "status"))?.uid == uid
    }
}
