import LinuxSystem

/// What /proc says is mounted in our namespace.
enum MountedFileSystems {
    /// Whether an object lies in an aclfs mount, ours or another's. Without mount ids (Linux before 5.8) its device says so.
    static func isOurs(_ status: FileStatus) -> Bool {
        do {
            let mounts = try MountInfo.ofThisProcess()
            guard
                let mount = mounts.first(where: {
                    status.mountID == 0 ? $0.device == status.device : $0.id == status.mountID
                })
            else {
                // A mount that we cannot see in the table is not one to walk into.
                return true
            }
            return mount.type.elementsEqual("fuse.aclfs".utf8)
        } catch { return true }
    }
}
