import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// A directory above grants or control sockets that the caller may not search.
enum SandboxRunClosedDirectory {
    /// Finds the first such directory. It has to be hidden: a later chmod would expose what lies below it.
    /// - Parameters:
    ///   - path: absolute, of grants or sockets.
    ///   - what: what lies there, for the message.
    /// - Returns: nil if the path has no such directory.
    /// - Throws: the caller owns the directory, so that the command could open it.
    static func place(on path: String, of what: String) throws(SandboxRunFailure) -> SandboxPlaces.Place? {
        guard let (directory, names) = try? closed(on: path.utf8.pathNames), var place = try? SandboxPlaces.Place(of: directory.rawValue),
            let isOwn = try? isOwn(directory)
        else { return nil }
        if isOwn {
            throw SandboxRunFailure(
                "\(escapedName(path.utf8)), where \(what), must be hidden, and your directory \(escapedName(names.joinedPath)) above it "
                    + "cannot be searched: allow it (chmod u+x)")
        }
        place.isClosed = true
        return place
    }

    /// Whether the caller owns the directory. A mount that admits only its user refuses statx: it is another user's.
    private static func isOwn(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        let number = try Syscall.mountID(of: directory.rawValue)
        let mount = try MountInfo.ofThisProcess().first { $0.id == number }
        if mount?.refuses(geteuid()) == true { return false }
        return try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid == geteuid()
    }

    /// - Returns: the directory and its path without links.
    private static func closed(on path: [[UInt8]]) throws(Errno) -> (directory: SharedDescriptor, names: [[UInt8]])? {
        var names: [[UInt8]] = []
        var rest = path[...]
        var links = 0
        while let name = rest.popFirst() {
            if name == [0x2E] { continue }
            if name == [0x2E, 0x2E] {
                _ = names.popLast()
                continue
            }
            let here = try open(names)
            let next: SharedDescriptor
            do throws(Errno) { next = try open(names + [name]) } catch {
                guard error == .acces, faccessat(here.rawValue, ".", X_OK, AT_EACCESS) != 0 else { return nil }
                return (here, names)
            }
            // An object that refuses statx is the top of a mount.
            guard (try? Syscall.statx(next.rawValue, flags: AtFlag.dontSync))?.type == FileType.symlink else {
                names.append(name)
                continue
            }
            links += 1
            if links > 40 { throw .loop }
            let target = try Syscall.readlinkat(next.rawValue)
            if target.first == UInt8(ascii: "/") { names = [] }
            rest = (target.pathNames + rest)[...]
        }
        return nil
    }

    private static func open(_ names: [[UInt8]]) throws(Errno) -> SharedDescriptor {
        try ([0x2F] + names.joined(separator: [0x2F])).withCString { (path) throws(Errno) in
            SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.noFollow))
        }
    }
}
