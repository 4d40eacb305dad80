import LinuxSystem

/// What /proc says is mounted in our namespace.
enum MountedFileSystems {
    /// Whether the device number is that of an aclfs mount, ours or another's.
    static func isOurs(device: UInt64) -> Bool {
        let number = Array("\(device >> 32):\(device & 0xFFFF_FFFF)".utf8)
        do {
            let file = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
            let text = try Syscall.readAll(file.rawValue)
            for line in text.split(separator: UInt8(ascii: "\n")) {
                let fields = line.split(separator: UInt8(ascii: " "))
                guard fields.count > 6, fields[2].elementsEqual(number),
                    let dash = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }), dash + 1 < fields.endIndex
                else { continue }
                return fields[dash + 1].elementsEqual("fuse.aclfs".utf8)
            }
            // A mount that we cannot see in the table is not one to walk into.
            return true
        } catch { return true }
    }
}
