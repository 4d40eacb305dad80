import Authorization
import BackingStore
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
    /// Warns of POSIX ACLs at the top of the backing directory. They hold on the mount as well (docs/reference/authorization.md Q22).
    func warnOfPosixACLs(_ options: MountOptions) {
        let looked = 1000
        guard let found = try? tree.posixACLsAtTop(limit: looked), found > 0 else { return }
        let objects =
            found == 1 ? "1 object at its top has a POSIX ACL, which holds" : "\(found) objects at its top have POSIX ACLs, which hold"
        let remedy =
            options.posixACL == .translate && !options.volume.ignoresACLs
            ? "setfacl on the mount replaces one by entries"
            : "to replace one, add equal entries (aclfs chmod +a) and remove it from the backing object (setfacl -b, setfacl -k)"
        printError("aclfs: warning: \(source): \(objects) on the mount in place of the group's mode bits; \(remedy)")
    }
}
