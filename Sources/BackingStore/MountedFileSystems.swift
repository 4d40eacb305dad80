import LinuxSystem

/// What /proc says is mounted in our namespace.
enum MountedFileSystems {
    /// Whether the device number is that of an aclfs mount, ours or another's.
    static func isOurs(device: UInt64) -> Bool {
        do {
            let file = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
            let mounts = try MountInfo.read(file.rawValue)
            guard let mount = mounts.first(where: { $0.device == device }) else {
                // A mount that we cannot see in the table is not one to walk into.
                return true
            }
            return mount.type.elementsEqual("fuse.aclfs".utf8)
        } catch { return true }
    }
}
