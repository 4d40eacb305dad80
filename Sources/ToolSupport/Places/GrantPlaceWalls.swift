import ACLFormats
import Glibc
import LinuxSystem

/// What `aclfs sandbox run` covers so that nobody inside rewrites what he was granted (docs/decisions/0013-grants.md): a
/// checksum that everybody can compute keeps nobody out.
extension GrantPlace {
    /// Where it lies, made if it is missing: what is not there could be made from inside.
    /// - Returns: nil if it is not there and this user cannot make it.
    package func wall() throws(Errno) -> SandboxPlaces.Place? {
        guard let directory = try made() else { return nil }
        return try .init(of: directory.rawValue)
    }

    /// Whether there is no directory at a path because a name on the way is a file, or a link that leads nowhere, and this user can
    /// change none of the names: then it is as one that is missing and that he cannot make. So is the home of an account that has none.
    package static func isBarred(_ path: String) -> Bool {
        do throws(Errno) { return try isBarred(path.utf8.pathNames[...], links: 0) } catch { return false }
    }

    private static func isBarred(_ path: ArraySlice<[UInt8]>, links: Int) throws(Errno) -> Bool {
        var here = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var rest = path
        while let name = rest.popFirst() {
            // What stands in a directory of his, or in one where he may write, can be another thing by and by; what he moves takes
            // along what lies in it. In /tmp he moves only what is his.
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
                // `..` would need to know where `here` stands.
                guard links < 40, target.first == UInt8(ascii: "/"), !target.pathNames.contains(Array("..".utf8)) else { return false }
                return try isBarred((target.pathNames + rest)[...], links: links + 1)
            default: return true
            }
        }
        return false
    }
}
