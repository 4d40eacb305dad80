import ACLFormats
import LinuxSystem

/// What `aclfs sandbox run` covers so that nobody inside rewrites what he was granted (docs/decisions/0013-grants.md): a
/// checksum that everybody can compute keeps nobody out.
extension GrantPlace {
    /// Where it lies, made if it is missing: what is not there could be made from inside.
    /// - Returns: nil if it is not there and this user cannot make it.
    func wall() throws(Errno) -> SandboxPlaces.Place? {
        guard let directory = try made() else { return nil }
        let id = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).mountID
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == id }), path.isInside(mount.path) else {
            throw .noent
        }
        let below = path.pathNames.dropFirst(mount.path.pathNames.count)
        return .init(device: mount.device, names: mount.root.pathNames + below, isSource: false)
    }
}
