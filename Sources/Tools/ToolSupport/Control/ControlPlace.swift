import Glibc
import LinuxSystem

/// The directories of the control sockets (docs/reference/control.md).
package enum ControlPlace {
    /// - Parameter device: `MAJOR:MINOR`, as in the mount table.
    /// - Returns: the name of the mount's socket.
    package static func name(device: String) -> String {
        String(device.map { $0 == ":" ? "-" : $0 }) + ".sock"
    }

    private struct Directory {
        /// A path that root controls, or that the caller's environment names.
        var base: String
        /// Names below it, which other users may control: a server that never answers may be mounted there.
        var names: [String]

        var path: String { (base == "/" ? "" : base) + names.map { "/\($0)" }.joined() }

        static let roots = Directory(base: "/run", names: ["aclfs"])

        static func usual(of uid: UInt32) -> Directory { Directory(base: "/run/user", names: ["\(uid)", "aclfs"]) }

        static func lastResort(of uid: UInt32) -> Directory { Directory(base: "/tmp", names: ["aclfs-\(uid)"]) }

        /// The one that the environment names.
        static var named: Directory? {
            guard let runtime = getenv("XDG_RUNTIME_DIR") else { return nil }
            let path = String(cString: runtime)
            return path.hasPrefix("/") ? Directory(base: path, names: ["aclfs"]) : nil
        }
    }

    /// Why there is no usable directory, and the remedy.
    package struct Obstacle: Error, CustomStringConvertible {
        package let description: String
    }

    /// Chooses the directory for mounts of the caller, and makes it if it is missing. It lies below the runtime directory that the
    /// environment names or the usual one, if only the caller can use that, else in /tmp
    /// (docs/decisions/0021-place-of-the-control-socket.md).
    /// - Parameter mountpoint: a real path. A directory below it is the last choice: there the daemon would wait for itself.
    /// - Returns: the path of the directory.
    /// - Throws: no directory is safe.
    package static func prepareDirectory(outside mountpoint: String? = nil) throws(Obstacle) -> String {
        let uid = geteuid()
        var places = places(of: uid)
        if uid == 0 {
            do throws(Errno) { return try made(.roots, mode: 0o755) } catch {
                places.removeFirst()
                if places.isEmpty { throw Obstacle(description: "/run/aclfs: \(error)") }
            }
        }
        guard let last = places.popLast() else { throw Obstacle(description: remedy) }
        for place in places {
            // It may be missing, or another user's, as after su.
            if let path = try? made(place, mode: 0o700, isPrivate: true), fits(path, outside: mountpoint) { return path }
        }
        do throws(Errno) { return try made(last, mode: 0o700) } catch { throw Obstacle(description: "\(reason(last, error)); \(remedy)") }
    }

    /// The bytes of a socket's address without the NUL, less the longest name.
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
        "XDG_RUNTIME_DIR must name a directory that you own and that is closed to others (mode 0700), outside of the mount point"

    private static func reason(_ place: Directory, _ error: Errno) -> String {
        guard error == .perm else { return "\(place.path): \(error)" }
        guard let (_, status) = try? found(place) else { return "\(place.path) is a mount that another user serves" }
        if status.uid != geteuid() { return "\(place.path) belongs to user \(status.uid), who could answer in place of the daemon" }
        if !status.isDirectory { return "\(place.path) is not a directory" }
        return "others may write in \(place.path)"
    }

    /// - Returns: the directories that may hold a socket of this user's daemons, preferred first. A client looks there; a sandbox hides
    ///   them. The usual one is always among them, since a daemon may have started in another environment.
    package static func directories(of uid: UInt32) -> [String] { places(of: uid).map(\.path) }

    private static func places(of uid: UInt32) -> [Directory] {
        var places: [Directory] = []
        var user = uid
        if uid == 0 {
            places = [.roots]
            // Root of a user namespace is a user outside, who may not write in /run.
            guard let outside = rootOutside else { return places }
            user = outside
        }
        // The environment is the caller's, not another user's.
        if uid == geteuid(), let named = Directory.named { places.append(named) }
        for place in [Directory.usual(of: user), .lastResort(of: user)] where !places.contains(where: { $0.path == place.path }) {
            places.append(place)
        }
        return places
    }

    /// - Parameters:
    ///   - uid: whose directories.
    ///   - unread: called for each directory of the user that cannot be read, or that others may write to.
    /// - Returns: the devices of the mounts that have a socket there. A socket may be left over from a mount that has ended.
    package static func devices(of uid: UInt32, unread: (String, Errno) -> Void = { _, _ in }) -> [String] {
        places(of: uid).flatMap { place -> [String] in
            guard let (directory, status) = try? found(place), status.isDirectory, status.uid == uid else { return [] }
            do throws(Errno) {
                guard isSafe(status) else { throw .perm }
                // Without search permission no listed socket could be used.
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

    // MARK: Directories that exist

    /// - Returns: the directories that exist and belong to this user, preferred first.
    static func found(of uid: UInt32) -> [SharedDescriptor] {
        places(of: uid).compactMap { try? opened($0, of: uid) }
    }

    /// Whether a sandbox hides the directories of this user: `aclfs sandbox run` mounts something empty onto each, in a user namespace of its
    /// own.
    static func isHidden(of uid: UInt32) -> Bool {
        if translatedIDs == nil { return false }
        let paths = directories(of: uid).map { Array($0.utf8) }
        let mounts = (try? MountInfo.ofThisProcess()) ?? []
        return mounts.contains { paths.contains($0.path) && !$0.type.starts(with: "fuse".utf8) }
    }

    /// The numbers of the user namespace's map, three for each range; nil for the initial one, which translates nothing.
    private static var translatedIDs: [UInt32]? {
        let map = (try? Syscall.readAll(path: "/proc/self/uid_map")) ?? []
        let numbers = map.split { $0 == 0x20 || $0 == 0x0A }.compactMap { UInt32(String(decoding: $0, as: UTF8.self)) }
        return map.isEmpty || numbers == [0, 0, .max] ? nil : numbers
    }

    /// Who root is outside of its user namespace; nil if that is root as well.
    private static var rootOutside: UInt32? {
        guard let ids = translatedIDs else { return nil }
        for start in stride(from: 0, to: ids.count - 2, by: 3) where ids[start] == 0 { return ids[start + 1] == 0 ? nil : ids[start + 1] }
        return nil
    }

    /// - Throws: `perm` if another user serves the directory, and as `ControlSocket.connect`.
    static func connect(in directory: SharedDescriptor, device: String, milliseconds: UInt32) throws(Errno) -> ControlSocket {
        let socket = try step(directory, name(device: device))
        return try ControlSocket.connect(to: "/proc/self/fd/\(socket.rawValue)", milliseconds: milliseconds)
    }

    /// - Throws: `perm` unless it belongs to the user and no other user may write to it.
    private static func opened(_ place: Directory, of uid: UInt32) throws(Errno) -> SharedDescriptor {
        let (directory, status) = try found(place)
        guard status.isDirectory, status.uid == uid, isSafe(status) else { throw .perm }
        return directory
    }

    /// Whether only the owner may create names in the directory.
    private static func isSafe(_ status: FileStatus) -> Bool { status.mode & 0o022 == 0 }

    private static func found(_ place: Directory) throws(Errno) -> (SharedDescriptor, FileStatus) {
        var current = SharedDescriptor(try Syscall.open(place.base, OpenFlag.path | OpenFlag.directory))
        for name in place.names { current = try step(current, name) }
        return (current, try Syscall.statx(current.rawValue, flags: AtFlag.dontSync))
    }

    /// Opens one name. No request goes to a mount of another user, whose server need not answer.
    /// - Throws: `perm` for such a mount.
    private static func step(_ directory: SharedDescriptor, _ name: String) throws(Errno) -> SharedDescriptor {
        let next = SharedDescriptor(try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
        let number = try Syscall.mountID(of: next.rawValue)
        if number != (try Syscall.mountID(of: directory.rawValue)) {
            guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == number }),
                !mount.isOfAnotherUser(than: geteuid())
            else { throw .perm }
        }
        return next
    }

    /// Opens the directory and makes it if it is missing.
    /// - Parameter isPrivate: whether only this user may use its parent. Otherwise the parent must be sticky or closed to writing.
    /// - Throws: `perm` if another user could replace the directory.
    private static func made(_ place: Directory, mode: UInt32, isPrivate: Bool = false) throws(Errno) -> String {
        var current = SharedDescriptor(try Syscall.open(place.base, OpenFlag.path | OpenFlag.directory))
        for name in place.names.dropLast() { current = try step(current, name) }
        let above = try Syscall.statx(current.rawValue, flags: AtFlag.dontSync)
        if isPrivate {
            guard above.uid == geteuid(), above.mode & 0o077 == 0 else { throw .perm }
        } else {
            // In a user namespace the host's root is the number of unmapped users (overflowuid).
            let isRoots = above.uid == 0 || above.uid == 65534 && translatedIDs != nil
            guard isRoots || above.uid == geteuid(), isSafe(above) || above.mode & 0o1000 != 0 else { throw .perm }
        }
        guard let name = place.names.last else { throw .inval }
        do { try Syscall.mkdirat(current.rawValue, name, mode: mode) } catch {
            if error != .exist { throw error }
        }
        // In /tmp another user may have made the name first. From now on only its owner can remove it.
        let made = try step(current, name)
        let status = try Syscall.statx(made.rawValue, flags: AtFlag.dontSync)
        guard status.isDirectory, status.uid == geteuid(), isSafe(status) else { throw .perm }
        return place.path
    }
}
