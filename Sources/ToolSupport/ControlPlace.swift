import Glibc
import LinuxSystem

/// Where the control sockets lie (docs/control.md).
public enum ControlPlace {
    /// - Parameter device: `MAJOR:MINOR`, as the mount table writes it.
    public static func name(device: String) -> String {
        String(device.map { $0 == ":" ? "-" : $0 }) + ".sock"
    }

    private struct Directory {
        /// What leads there is root's, or named by the environment of who asks.
        var base: String
        /// On from there others may have put something, a server that answers nothing perhaps.
        var names: [String]

        var path: String { (base == "/" ? "" : base) + names.map { "/\($0)" }.joined() }

        static let roots = Directory(base: "/run", names: ["aclfs"])

        static func usual(of uid: UInt32) -> Directory { Directory(base: "/run/user", names: ["\(uid)", "aclfs"]) }

        static func lastResort(of uid: UInt32) -> Directory { Directory(base: "/tmp", names: ["aclfs-\(uid)"]) }

        /// As the environment names it.
        static var named: Directory? {
            guard let runtime = getenv("XDG_RUNTIME_DIR") else { return nil }
            let path = String(cString: runtime)
            return path.hasPrefix("/") ? Directory(base: path, names: ["aclfs"]) : nil
        }
    }

    /// The directory for mounts of this process's user, made if it is missing. Errors: perm if somebody else
    /// could put something there.
    public static func prepareDirectory() throws(Errno) -> String {
        if geteuid() == 0 { return try made(.roots, mode: 0o755) }
        // What the environment names may be missing or somebody else's; the last place is ours or none is.
        if let named = Directory.named, let path = try? made(named, mode: 0o700) { return path }
        return try made(.lastResort(of: geteuid()), mode: 0o700)
    }

    /// Where a client looks for a mount of this user, best first, and what a sandbox must cover. The environment in which a
    /// daemon was started need not be this one's: the usual place always counts.
    public static func directories(of uid: UInt32) -> [String] { places(of: uid).map(\.path) }

    private static func places(of uid: UInt32) -> [Directory] {
        if uid == 0 { return [.roots] }
        var places: [Directory] = []
        // Another user's environment says nothing of where this one's daemon put it.
        if uid == geteuid(), let named = Directory.named { places.append(named) }
        for place in [Directory.usual(of: uid), .lastResort(of: uid)] where !places.contains(where: { $0.path == place.path }) {
            places.append(place)
        }
        return places
    }

    /// The devices of the mounts whose sockets lie where this user's do; a socket may be left over from a mount that has gone.
    /// - Parameter unread: is told of directories of his that are not read: closed, or open to the writing of others.
    public static func devices(of uid: UInt32, unread: (String, Errno) -> Void = { _, _ in }) -> [String] {
        places(of: uid).flatMap { place -> [String] in
            guard let (directory, status) = try? found(place), status.isDirectory, status.uid == uid else { return [] }
            do throws(Errno) {
                guard isSafe(status) else { throw .perm }
                // Without a way to them what is listed could not be asked.
                if faccessat(directory.rawValue, ".", X_OK, AT_EACCESS) != 0 { throw Errno(rawValue: errno) }
                let listed = try Syscall.reopen(directory.rawValue, OpenFlag.readOnly | OpenFlag.directory)
                return try Syscall.names(listed.rawValue).compactMap { name in
                    let text = String(decoding: name, as: UTF8.self)
                    return text.hasSuffix(".sock") ? String(text.dropLast(5).map { $0 == "-" ? ":" : $0 }) : nil
                }
            } catch {
                unread(place.path, error)
                return []
            }
        }
    }

    // MARK: What is there

    /// Those of this user's directories that are there and his, best first.
    static func found(of uid: UInt32) -> [SharedDescriptor] {
        places(of: uid).compactMap { try? opened($0, of: uid) }
    }

    /// Errors: perm of what another user serves, and as `ControlSocket.connect`.
    static func connect(in directory: SharedDescriptor, device: String, milliseconds: UInt32) throws(Errno) -> ControlSocket {
        let socket = try step(directory, name(device: device))
        return try ControlSocket.connect(to: "/proc/self/fd/\(socket.rawValue)", milliseconds: milliseconds)
    }

    /// Errors: perm unless it is the user's and nobody else writes there.
    private static func opened(_ place: Directory, of uid: UInt32) throws(Errno) -> SharedDescriptor {
        let (directory, status) = try found(place)
        guard status.isDirectory, status.uid == uid, isSafe(status) else { throw .perm }
        return directory
    }

    /// Nobody but its owner puts anything there.
    private static func isSafe(_ status: FileStatus) -> Bool { status.mode & 0o022 == 0 }

    private static func found(_ place: Directory) throws(Errno) -> (SharedDescriptor, FileStatus) {
        var current = SharedDescriptor(try Syscall.open(place.base, OpenFlag.path | OpenFlag.directory))
        for name in place.names { current = try step(current, name) }
        return (current, try Syscall.statx(current.rawValue, flags: AtFlag.dontSync))
    }

    /// One name, whatever it is. A mount of another user's is noticed before it is asked anything: whoever serves it need not
    /// answer. Errors: perm.
    private static func step(_ directory: SharedDescriptor, _ name: String) throws(Errno) -> SharedDescriptor {
        let next = SharedDescriptor(try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
        let number = try Syscall.mountID(of: next.rawValue)
        if number != (try Syscall.mountID(of: directory.rawValue)) {
            guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == number }),
                !mount.isStrangers(to: geteuid())
            else { throw .perm }
        }
        return next
    }

    private static func made(_ place: Directory, mode: UInt32) throws(Errno) -> String {
        do { try Syscall.mkdirat(Syscall.workingDirectory, place.path, mode: mode) } catch {
            if error != .exist { throw error }
        }
        // In /tmp others may have been there first.
        _ = try opened(place, of: geteuid())
        return place.path
    }
}
