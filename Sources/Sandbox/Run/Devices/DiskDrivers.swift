import LinuxSystem

/// Which device nodes lead to a disk, to flash or to the memory of the machine.
struct DiskDrivers {
    /// Character devices of fixed numbers: SCSI commands, raw flash, raw disks.
    private static let fixed: Set<UInt64> = [21, 90, 162]
    /// Drivers whose numbers the kernel chooses when it loads them: NVMe and SCSI commands, flash, persistent memory.
    private static let named = ["bsg", "nvme", "ubi", "rpmb", "mtd", "sg", "raw", "dax"]
    /// Names of nodes whose driver has another name.
    private static let prefixes = ["sg", "ng", "nvme", "mmcblk", "mtd", "ubi", "mem", "kmem", "port"]

    private var majors = fixed

    /// - Throws: `/proc/devices` cannot be read.
    init() throws(Errno) {
        let text = try Syscall.readAll(path: "/proc/devices")
        for line in text.split(separator: 0x0A) {
            if line.starts(with: "Block".utf8) { break }
            let words = line.split(separator: 0x20)
            guard words.count == 2, let major = UInt64(String(decoding: words[0], as: UTF8.self)) else { continue }
            if Self.named.contains(where: { words[1].starts(with: $0.utf8) }) { majors.insert(major) }
        }
    }

    /// Whether a node leads to a disk, to flash, or to the memory of the machine.
    /// - Parameters:
    ///   - name: of the node.
    ///   - directory: the last name of the directory that holds it.
    func isDisk(_ status: FileStatus, _ name: String, in directory: String) -> Bool {
        if status.type == FileType.blockDevice { return true }
        if status.type != FileType.characterDevice { return false }
        let (major, minor) = (status.rdev >> 32, status.rdev & 0xFFFF_FFFF)
        // mem, kmem and port.
        if major == 1, [1, 2, 4].contains(minor) { return true }
        if majors.contains(major) || directory == "bsg" { return true }
        // A number or another suffix follows the letters.
        return Self.prefixes.contains(name.prefix { $0.isLetter }.lowercased())
    }
}
