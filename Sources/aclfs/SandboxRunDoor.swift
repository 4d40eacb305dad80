import ACLFormats
import Glibc
import LinuxSystem

/// A directory above grants or control sockets that the caller may not search.
enum SandboxRunDoor {
    /// To be covered, for whoever opens it later opens what lies behind it.
    /// - Parameter what: lies at the path.
    /// - Returns: nil if there is none on the way.
    /// - Throws: where he could open it himself, inside, too, and nobody can say what lies behind it now.
    static func place(on path: String, of what: String) throws(SandboxRunFailure) -> SandboxPlaces.Place? {
        guard let (directory, name) = try? closed(on: path), var door = try? SandboxPlaces.Place(of: directory.rawValue),
            let owner = try? Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid
        else { return nil }
        guard owner != geteuid() else {
            throw SandboxRunFailure(
                "\(escapedName(path.utf8)), where \(what), has to be covered and lies below \(escapedName(name.utf8)), a directory of "
                    + "yours that is closed: open it (chmod u+x)")
        }
        door.isDoor = true
        return door
    }

    private static func closed(on path: String) throws(Errno) -> (directory: SharedDescriptor, path: String)? {
        var here = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var way = ""
        for name in path.utf8.pathNames {
            do throws(Errno) {
                here = try name.withCString { (name) throws(Errno) in
                    SharedDescriptor(
                        try Syscall.openat(here.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow))
                }
            } catch {
                guard error == .acces, faccessat(here.rawValue, ".", X_OK, AT_EACCESS) != 0 else { return nil }
                return (here, way)
            }
            way += "/" + String(decoding: name, as: UTF8.self)
        }
        return nil
    }
}
