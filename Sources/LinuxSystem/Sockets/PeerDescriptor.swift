import CLinux

extension ControlSocket.Peer {
    /// What a descriptor of the other end's leads to, by its number there, if it only names (O_PATH) something on an awaited
    /// mount.
    ///
    /// It is opened anew and not sent: who takes a stranger's descriptor has to close it again, and closing waits for whoever
    /// serves the file. One that only names asks nobody anything, from its opening to its end.
    /// - Parameter isAwaited: by the mount's number.
    public func named(by number: Int64, on isAwaited: (UInt64) -> Bool) -> SharedDescriptor? {
        guard pid > 0, number >= 0,
            let found = try? Syscall.open("/proc/\(pid)", OpenFlag.path | OpenFlag.directory)
        else { return nil }
        // The process as it was found: the number may be given to another one, or become a program of another user's.
        let process = SharedDescriptor(found)
        guard isHis(process), let notes = try? Syscall.openat(process.rawValue, "fdinfo/\(number)", OpenFlag.readOnly),
            let text = try? Syscall.readAll(notes.rawValue, limit: 4096),
            let id = Syscall.descriptorNote("mnt_id:", in: text).flatMap({ UInt64($0) }), isAwaited(id),
            let flags = Syscall.descriptorNote("flags:", in: text).flatMap({ Int32($0, radix: 8) }),
            flags & OpenFlag.path != 0,
            let opened = try? Syscall.openat(process.rawValue, "fd/\(number)", OpenFlag.path)
        else { return nil }
        let descriptor = SharedDescriptor(opened)
        return isHis(process) ? descriptor : nil
    }

    /// Whether it lives and acts for the user who connected.
    private func isHis(_ process: SharedDescriptor) -> Bool {
        (try? Syscall.statxAt(process.rawValue, "status"))?.uid == uid
    }
}
