import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// Where control sockets may lie: who is confined must neither find one nor listen there himself, as his user's daemon.
enum SandboxRunSockets {
    /// Each is made if it is missing, for what is not there could be made from inside.
    /// - Parameter share: what lies there is seen as the profile says.
    static func places(apartFrom share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        var places: [SandboxPlaces.Place] = []
        for path in Set(ControlPlace.directories(of: 0) + ControlPlace.directories(of: geteuid())).sorted() {
            do throws(Errno) {
                if let place = try place(Array(path.utf8).pathNames, apartFrom: share), !places.contains(place) {
                    places.append(place)
                }
            } catch {
                // As /run/user/0 is, which the environment still names after su.
                if error == .acces, let door = try SandboxRunDoor.place(on: path, of: "control sockets may lie") {
                    if !places.contains(door) { places.append(door) }
                    continue
                }
                if error == .notdir || error == .loop, GrantPlace.isBarred(path) { continue }
                throw SandboxRunFailure(
                    "nobody can say whether the command could put a control socket into \(escapedName(path.utf8)) (does "
                        + "XDG_RUNTIME_DIR name a directory of yours?)", error)
            }
        }
        return places
    }

    /// nil if nobody inside can have a directory there.
    private static func place(
        _ names: [[UInt8]], apartFrom share: SandboxPlaces
    ) throws(Errno) -> SandboxPlaces.Place? {
        // What is above it is made as it is above the grants.
        let above = try GrantPlace(at: String(decoding: names.dropLast().joinedPath, as: UTF8.self))
        let device = try Syscall.statx(above.base.rawValue, flags: AtFlag.dontSync).device
        if share.mounts.contains(where: { $0.device == device }) { return nil }
        guard let name = names.last, let directory = try above.made() else { return nil }
        guard let found = try object(name, in: directory) else { return nil }
        // In /tmp anybody makes any name. Daemons take no file or link for their directory; one of his own he could replace.
        if try !SandboxWalk.isDirectory(found.rawValue),
            (try? Syscall.statx(found.rawValue, flags: AtFlag.dontSync))?.uid != geteuid()
        {
            return nil
        }
        return try SandboxPlaces.Place(of: found.rawValue)
    }

    /// - Returns: nil if it is missing and this user cannot make it.
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
                // As daemons make them: root's is for all to see.
                try Syscall.mkdirat(directory.rawValue, name, mode: geteuid() == 0 ? 0o755 : 0o700)
            }
        } catch {
            let isHis = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid == geteuid()
            switch error {
            case .exist: break
            case .rofs: return nil
            case .acces, .perm: if !isHis { return nil } else { throw error }
            default: throw error
            }
        }
        return try find()
    }
}
