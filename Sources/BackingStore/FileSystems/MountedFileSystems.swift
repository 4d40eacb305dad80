import LinuxSystem

/// The mounts of this namespace according to /proc.
enum MountedFileSystems {
    /// Whether an object is on an aclfs mount of any daemon. Without mount ids (Linux before 5.8) its device decides.
    static func isAclfs(_ status: FileStatus) -> Bool {
        do {
            let mounts = try MountInfo.ofThisProcess()
            guard
                let mount = mounts.first(where: {
                    status.mountID == 0 ? $0.device == status.device : $0.id == status.mountID
                })
            else {
                // The daemon does not enter a mount that the table does not show.
                return true
            }
            return mount.type.elementsEqual("fuse.aclfs".utf8)
        } catch { return true }
    }
}
