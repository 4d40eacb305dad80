import Authorization
import BackingStore
import LinuxSystem
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

    /// Warns if the file system of the backing directory has no room for the longest list.
    func warnOfShortLists() {
        guard tree.storesRecords else { return }
        let entries: Int
        do throws(Errno) { entries = try tree.rootAttributeSpace().entries(recordName: tree.metadataName) } catch {
            return printError("aclfs: warning: \(source): cannot find out how large ACLs may be on its file system: \(error)")
        }
        guard entries < ACL.maximumEntryCount else { return }
        printError(
            "aclfs: warning: \(source): its file system has room for ACLs of \(entries) entries, not of "
                + "\(ACL.maximumEntryCount); ext4 with 4 KiB blocks (mkfs.ext4 -b 4096) or with ea_inode has room for these")
    }

    /// Warns of options by which modes and entries protect nothing. A source without attributes is served by no others, which it says itself.
    func warnOfIgnoredRules(_ options: MountOptions) {
        guard tree.storesRecords else { return }
        for word in IgnoredRulesWarning.words(in: options) {
            printError("aclfs: warning: \(mountpoint): with \(word) \(IgnoredRulesWarning.meaning(of: word))")
        }
    }
}
