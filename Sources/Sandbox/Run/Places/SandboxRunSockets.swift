import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The directories of control sockets. The command must neither find a socket nor listen on one as its user's daemon.
enum SandboxRunSockets {
    /// Makes each directory that is missing, since the command could make it otherwise.
    /// - Parameter share: its mounts, which the profile governs.
    /// - Returns: the directories to hide.
    /// - Throws: a directory cannot be made or opened although the caller might.
    static func places(apartFrom share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        var places: [SandboxPlaces.Place] = []
        for path in Set(ControlPlace.directories(of: 0) + ControlPlace.directories(of: geteuid())).sorted() {
            do throws(Errno) {
                if let place = try place(Array(path.utf8).pathNames, apartFrom: share), !places.contains(place) {
                    places.append(place)
                }
            } catch {
                // Such as /run/user/0, which the environment still names after su.
                if error == .acces, let closed = try SandboxRunClosedDirectory.place(on: path, of: "control sockets may lie") {
                    if !places.contains(closed) { places.append(closed) }
                    continue
                }
                if error == .notdir || error == .loop, GrantPlace.isBarred(path) { continue }
                throw SandboxRunFailure(
                    "cannot make or open \(escapedName(path.utf8)), a directory of control sockets that must be hidden "
                        + "(XDG_RUNTIME_DIR must name a directory that you own)", error)
            }
        }
        return places
    }

    /// - Returns: nil if the command can have no directory there.
    private static func place(
        _ names: [[UInt8]], apartFrom share: SandboxPlaces
    ) throws(Errno) -> SandboxPlaces.Place? {
        // Directories above it are made as for grants.
        let above = try GrantPlace(at: String(decoding: names.dropLast().joinedPath, as: UTF8.self))
        let device = try Syscall.statx(above.base.rawValue, flags: AtFlag.dontSync).device
        if share.mounts.contains(where: { $0.device == device }) { return nil }
        guard let name = names.last, let directory = try above.made() else { return nil }
        guard let found = try object(name, in: directory) else { return nil }
        // In /tmp another user may have made the name. Daemons refuse a file or link there, but the caller could replace an own one.
        if try !SandboxWalk.isDirectory(found.rawValue),
            (try? Syscall.statx(found.rawValue, flags: AtFlag.dontSync))?.uid != geteuid()
        {
            return nil
        }
        return try SandboxPlaces.Place(of: found.rawValue)
    }

    /// Opens the object, and makes a directory if there is none.
    /// - Returns: nil if it is missing and the caller cannot make it.
    private static func object(_ name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> SharedDescriptor? {
        func find() throws(Errno) -> SharedDescriptor {
            try name.withCString { (name) throws(Errno) in
                SharedDescriptor(try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
            }
        }
        do throws(Errno) { return try find() } catch {
            guard error == .noent else { throw error }
        }
        do throws(Errno) {
            try name.withCString { (name) throws(Errno) in
                // The modes that daemons use: root's directory is readable by all.
                try Syscall.mkdirat(directory.rawValue, name, mode: geteuid() == 0 ? 0o755 : 0o700)
            }
        } catch {
            let isOwn = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid == geteuid()
            switch error {
            case .exist: break
            case .rofs: return nil
            case .acces, .perm: if !isOwn { return nil } else { throw error }
            default: throw error
            }
        }
        return try find()
    }
}
