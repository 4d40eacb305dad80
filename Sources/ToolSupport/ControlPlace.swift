import Glibc
import LinuxSystem

/// Where the control sockets lie (docs/control.md).
public enum ControlPlace {
    /// - Parameter device: `MAJOR:MINOR`, as the mount table writes it.
    public static func name(device: String) -> String {
        String(device.map { $0 == ":" ? "-" : $0 }) + ".sock"
    }

    /// The directory for mounts of this process's user, made if it is missing. Errors: perm if somebody else
    /// could put something there.
    public static func prepareDirectory() throws(Errno) -> String {
        if geteuid() == 0 {
            try make("/run/aclfs", mode: 0o755)
            return "/run/aclfs"
        }
        // What the environment names may be missing or somebody else's; the last place is ours or none is.
        if let runtimeDirectory, (try? make(runtimeDirectory, mode: 0o700)) != nil { return runtimeDirectory }
        let last = lastResort(of: geteuid())
        try make(last, mode: 0o700)
        return last
    }

    /// Where a client looks for a mount of this user, best first, and what a sandbox must cover. The environment in which a
    /// daemon was started need not be this one's: the usual place always counts.
    public static func directories(of uid: UInt32) -> [String] {
        if uid == 0 { return ["/run/aclfs"] }
        var places: [String] = []
        // Another user's environment says nothing of where this one's daemon put it.
        if uid == geteuid(), let runtimeDirectory { places.append(runtimeDirectory) }
        for place in ["/run/user/\(uid)/aclfs", lastResort(of: uid)] where !places.contains(place) { places.append(place) }
        return places
    }

    /// As the environment names it.
    private static var runtimeDirectory: String? {
        guard let runtime = getenv("XDG_RUNTIME_DIR") else { return nil }
        let path = String(cString: runtime)
        return path.hasPrefix("/") ? "\(path)/aclfs" : nil
    }

    private static func lastResort(of uid: UInt32) -> String { "/tmp/aclfs-\(uid)" }

    /// Of the mounts whose sockets lie where this user's do; a socket may be left over from a mount that has gone.
    public static func devices(of uid: UInt32) -> [String] {
        directories(of: uid).flatMap { path -> [String] in
            guard let directory = try? Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory),
                let names = try? Syscall.names(directory.rawValue)
            else { return [] }
            return names.compactMap { name in
                let text = String(decoding: name, as: UTF8.self)
                guard text.hasSuffix(".sock") else { return nil }
                return String(text.dropLast(5).map { $0 == "-" ? ":" : $0 })
            }
        }
    }

    private static func make(_ path: String, mode: UInt32) throws(Errno) {
        do { try Syscall.mkdirat(Syscall.workingDirectory, path, mode: mode) } catch {
            if error != .exist { throw error }
        }
        // In /tmp others may have been there first.
        let status = try Syscall.statxAt(Syscall.workingDirectory, path)
        guard status.isDirectory, status.uid == geteuid(), status.mode & 0o022 == 0 else { throw .perm }
    }
}
