import Authorization
import BackingStore
import LinuxSystem
import MountOptions
import ToolSupport

extension PreparedMount {
    /// Warns if the file system of the backing directory has no room for the longest list.
    package func warnOfShortLists() {
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

/// What a file system leaves for attributes other than the record.
package enum AttributeRoom {
    /// Bytes; nil if it cannot be found out.
    package static func left(_ directory: Int32, recordName: String) -> Int? {
        try? AttributeSpace.measured(in: directory, recordName: recordName)
            .forOthers(recordName: recordName, entries: MountOptions().listRoom)
    }

    package static func text(_ bytes: Int) -> String {
        bytes >= AttributeSpace.largestValue ? "64 KiB each" : "\(bytes) bytes for all of an object (list_room=)"
    }
}
