import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem

/// `aclfs sandbox run` hides the grants, so that a command cannot rewrite its own (docs/decisions/0013-grants.md): the checksum of the
/// file is no secret.
extension GrantPlace {
    /// Makes the directory if it is missing, since the command could make it otherwise.
    /// - Returns: the directory to hide; nil if it is missing and the caller cannot make it.
    /// - Throws: as `made`.
    package func hidingPlace() throws(Errno) -> SandboxPlaces.Place? {
        guard let directory = try made() else { return nil }
        return try .init(of: directory.rawValue)
    }

    /// Whether a path can never lead to a directory: one of its names is a file, or a link that leads nowhere, and the caller can change
    /// none of the names. An example is the home of an account that has none.
    package static func isBarred(_ path: String) -> Bool {
        do throws(Errno) { return try isBarred(path.utf8.pathNames[...], links: 0) } catch { return false }
    }

    private static func isBarred(_ path: ArraySlice<[UInt8]>, links: Int) throws(Errno) -> Bool {
        var here = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var rest = path
        while let name = rest.popFirst() {
            // The caller can replace a name in an own or a writable directory; in a sticky one only own names.
            let directory = try Syscall.statx(here.rawValue, flags: AtFlag.dontSync)
            if directory.uid == geteuid() { return false }
            let isWritable = faccessat(here.rawValue, ".", W_OK, AT_EACCESS) == 0
            if isWritable, directory.mode & 0o1000 == 0 { return false }
            let found: SharedDescriptor
            do throws(Errno) {
                found = try name.withCString { (name) throws(Errno) in
                    SharedDescriptor(try Syscall.openat(here.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
                }
            } catch {
                if error == .noent { return !isWritable }
                throw error
            }
            let status = try Syscall.statx(found.rawValue, flags: AtFlag.dontSync)
            if isWritable, status.uid == geteuid() { return false }
            switch status.type {
            case FileType.directory: here = found
            case FileType.symlink:
                let target = try Syscall.readlinkat(found.rawValue)
                // `..` would need the path of `here`.
                guard links < 40, target.first == UInt8(ascii: "/"), !target.pathNames.contains(Array("..".utf8)) else { return false }
                return try isBarred((target.pathNames + rest)[...], links: links + 1)
            default: return true
            }
        }
        return false
    }
}
