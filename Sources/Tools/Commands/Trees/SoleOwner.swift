import ACLFormats
import Authorization
import LinuxSystem

/// Who owns an object on a mount, for comparing owners. All owners without a number here have the same uid: groups and identities from elsewhere,
/// and in a user namespace all users whom it does not map.
struct SoleOwner: Equatable {
    private let uid: UInt32
    private let identity: GUID?

    /// - Throws: the owner cannot be learned.
    init(of node: SharedDescriptor, _ status: FileStatus, _ files: LinuxFiles) throws(Errno) {
        uid = status.uid
        guard uid == ObjectFacts.notAnID || uid == Self.overflow else {
            identity = nil
            return
        }
        guard let value = try files.attribute(ownerAttribute, of: node), let known = GUID(uuidText: value) else { throw .io }
        identity = known
    }

    /// What the kernel shows for a uid that a user namespace does not map.
    private static let overflow: UInt32 = 65_534
}
