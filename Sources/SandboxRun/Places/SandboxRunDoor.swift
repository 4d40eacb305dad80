import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// A directory above grants or control sockets that the caller may not search.
enum SandboxRunDoor {
    /// To be covered, for whoever opens it later opens what lies behind it.
    /// - Parameter what: lies at the path.
    /// - Returns: nil if there is none on the way.
    /// - Throws: where he could open it himself, inside, too, and nobody can say what lies behind it now.
    static func place(on path: String, of what: String) throws(SandboxRunFailure) -> SandboxPlaces.Place? {
        guard let (directory, way) = try? closed(on: path.utf8.pathNames), var door = try? SandboxPlaces.Place(of: directory.rawValue),
            let isOwn = try? isOwn(directory)
        else { return nil }
        if isOwn {
            throw SandboxRunFailure(
                "\(escapedName(path.utf8)), where \(what), has to be covered and lies below \(escapedName(way.joinedPath)), a directory "
                    + "of yours that is closed: open it (chmod u+x)")
        }
        door.isClosed = true
        return door
    }

    /// The top of a mount that lets nobody in but its user does not even tell its owner.
    private static func isOwn(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        let number = try Syscall.mountID(of: directory.rawValue)
        let mount = try MountInfo.ofThisProcess().first { $0.id == number }
        if mount?.keepsOut(geteuid()) == true { return false }
        return try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid == geteuid()
    }

    /// With its path, on which there are no links.
    private static func closed(on path: [[UInt8]]) throws(Errno) -> (directory: SharedDescriptor, way: [[UInt8]])? {
        var way: [[UInt8]] = []
        var rest = path[...]
        var links = 0
        while let name = rest.popFirst() {
            if name == [0x2E] { continue }
            if name == [0x2E, 0x2E] {
                _ = way.popLast()
                continue
            }
            let here = try open(way)
            let next: SharedDescriptor
            do throws(Errno) { next = try open(way + [name]) } catch {
                guard error == .acces, faccessat(here.rawValue, ".", X_OK, AT_EACCESS) != 0 else { return nil }
                return (here, way)
            }
            // What tells nothing of itself is the top of a mount.
            guard (try? Syscall.statx(next.rawValue, flags: AtFlag.dontSync))?.type == FileType.symlink else {
                way.append(name)
                continue
            }
            links += 1
            if links > 40 { throw .loop }
            let target = try Syscall.readlinkat(next.rawValue)
            if target.first == UInt8(ascii: "/") { way = [] }
            rest = (target.pathNames + rest)[...]
        }
        return nil
    }

    private static func open(_ way: [[UInt8]]) throws(Errno) -> SharedDescriptor {
        try ([0x2F] + way.joined(separator: [0x2F])).withCString { (path) throws(Errno) in
            SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.noFollow))
        }
    }
}
