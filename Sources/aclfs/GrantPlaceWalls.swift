import ACLFormats
import LinuxSystem

/// What `aclfs sandbox run` covers so that nobody inside rewrites what he was granted (docs/decisions/0013-grants.md): a
/// checksum that everybody can compute keeps nobody out.
extension GrantPlace {
    /// Where it lies, made if it is missing: what is not there could be made from inside.
    /// - Returns: nil if it is not there and this user cannot make it.
    func wall() throws(Errno) -> SandboxPlaces.Place? {
        guard let directory = try made() else { return nil }
        return try .init(of: directory.rawValue)
    }
}
