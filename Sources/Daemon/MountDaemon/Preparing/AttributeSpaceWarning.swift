import Authorization
import BackingStore
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
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
}
