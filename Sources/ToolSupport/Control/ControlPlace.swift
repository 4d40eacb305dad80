import Glibc
import LinuxSystem

/// Where the control sockets lie (docs/control.md).
package enum ControlPlace {
    /// - Parameter device: `MAJOR:MINOR`, as the mount table writes it.
    package static func name(device: String) -> String {
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

    /// Why there is no place, and what helps.
    package struct Obstacle: Error, CustomStringConvertible {
        package let description: String
    }

    /// The directory for mounts of this process's user, made if it is missing: below the runtime directory that the environment names, or
    /// below the usual one, where that is the user's alone, else one in /tmp that is (docs/decisions/0021-place-of-the-control-socket.md).
    /// - Parameter mountpoint: a real path; what lies below it is not chosen where another place will do: the daemon would wait for itself.
    package static func prepareDirectory(outside mountpoint: String? = nil) throws(Obstacle) -> String {
        let uid = geteuid()
        if uid == 0 {
            do throws(Errno) { return try made(.roots, mode: 0o755) } catch { throw Obstacle(description: "/run/aclfs: \(error)") }
        }
        for place in places(of: uid).dropLast() {
            // It may be missing, or not for this user alone, as after su.
            if let path = try? made(place, mode: 0o700, isPrivate: true), fits(path, outside: mountpoint) { return path }
        }
        let last = Directory.lastResort(of: uid)
        do throws(Errno) { return try made(last, mode: 0o700) } catch { throw Obstacle(description: "\(reason(last, error)); \(remedy)") }
    }

    /// Bytes of a socket's address, without the NUL, less the longest name.
    private static let longestPath = 107 - "/4095-1048575.sock".utf8.count

    private static func fits(_ path: String, outside mountpoint: String?) -> Bool {
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        let text = String(cString: real)
        guard text.utf8.count <= longestPath else { return false }
        guard let mountpoint else { return true }
        return mountpoint != "/" && text != mountpoint && !text.hasPrefix(mountpoint + "/")
    }

    private static let remedy =
        "let XDG_RUNTIME_DIR name a directory that is yours and closed to others (mode 0700), outside of the mount point"

    private static func reason(_ place: Directory, _ error: Errno) -> String {
        guard error == .perm else { return "\(place.path): \(error)" }
        guard let (_, status) = try? found(place) else { return "\(place.path) is a mount that another user serves" }
        if status.uid != geteuid() { return "\(place.path) belongs to user \(status.uid), who could answer in place of the daemon" }
        if !status.isDirectory { return "\(place.path) is no directory" }
        return "others may write in \(place.path)"
    }

    /// Where a client looks for a mount of this user, best first, and what a sandbox must cover. The environment in which a
    /// daemon was started need not be this one's: the usual place always counts.
    package static func directories(of uid: UInt32) -> [String] { places(of: uid).map(\.path) }

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
    package static func devices(of uid: UInt32, unread: (String, Errno) -> Void = { _, _ in }) -> [String] {
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

    /// - Parameter isPrivate: whether what it lies in must be this user's alone, or else one in which others remove nothing.
    private static func made(_ place: Directory, mode: UInt32, isPrivate: Bool = false) throws(Errno) -> String {
        var current = SharedDescriptor(try Syscall.open(place.base, OpenFlag.path | OpenFlag.directory))
        for name in place.names.dropLast() { current = try step(current, name) }
        let above = try Syscall.statx(current.rawValue, flags: AtFlag.dontSync)
        if isPrivate {
            guard above.uid == geteuid(), above.mode & 0o077 == 0 else { throw .perm }
        } else {
            guard above.uid == 0 || above.uid == geteuid(), isSafe(above) || above.mode & 0o1000 != 0 else { throw .perm }
        }
        guard let name = place.names.last else { throw .inval }
        do { try Syscall.mkdirat(current.rawValue, name, mode: mode) } catch {
            if error != .exist { throw error }
        }
        // In /tmp others may have been there first. The name stays what it is now: only its owner removes it.
        let made = try step(current, name)
        let status = try Syscall.statx(made.rawValue, flags: AtFlag.dontSync)
        guard status.isDirectory, status.uid == geteuid(), isSafe(status) else { throw .perm }
        return place.path
    }
}
