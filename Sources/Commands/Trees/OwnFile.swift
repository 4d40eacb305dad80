import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import ToolSupport

/// A file whose text is done with the caller's rights: no other user than root may be able to write it.
enum OwnFile {
    /// - Parameters:
    ///   - file: open.
    ///   - status: its status.
    /// - Returns: why another user could write it; nil if none can.
    static func objection(_ file: SharedDescriptor, _ status: FileStatus) -> String? {
        guard status.uid == geteuid() || status.uid == 0, status.mode & 0o022 == 0 else {
            return "another user could have written it; it must be this user's or root's, and closed to others for writing"
        }
        let device = DeviceNumber.text(status.device)
        guard let mount = MountTable.entries().last(where: { $0.device == device && $0.type.hasPrefix("fuse") }) else { return nil }
        let place = escapedName(mount.path.utf8)
        // Its program says whose files are.
        if mount.isOfAnotherUser { return "it lies on \(place), which user \(mount.userID ?? 0) serves; keep it elsewhere" }
        guard mount.type == "fuse.aclfs" else { return nil }
        // Entries, and options such as noowners, give others what its mode does not.
        if geteuid() == 0 {
            return "it lies in the aclfs mount \(place), where others than root may be able to write it; keep it elsewhere"
        }
        do throws(AttributeFailure) {
            let list = try LinuxFiles().acl(of: file, names: SystemNames())
            guard list?.entries.contains(where: { $0.kind == .allow }) == true else { return nil }
            return "its entries may let others write it, and in this directory it inherits such; keep it elsewhere"
        } catch { return error.isUnsupported ? nil : error.message }
    }
}
