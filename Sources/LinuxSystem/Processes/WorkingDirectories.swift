/// Where the processes of this host stand, as far as /proc shows it to us.
public enum WorkingDirectories {
    /// The inode numbers of all working directories on one file system. Sends that file system no request: the
    /// numbers are those that the kernel knows.
    public static func inodes(onDevice device: UInt64) throws(Errno) -> Set<UInt64> {
        let proc = try Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory)
        let names = try Syscall.names(proc.rawValue)
        var inodes: Set<UInt64> = []
        for name in names where name.allSatisfy({ (0x30...0x39).contains($0) }) {
            let link = String(decoding: name, as: UTF8.self) + "/cwd"
            // It may have ended, or not be ours to see.
            guard
                let status = try? Syscall.statxAt(
                    proc.rawValue, link, mask: StatMask.basic, flags: AtFlag.dontSync)
            else { continue }
            if status.device == device { inodes.insert(status.inode) }
        }
        return inodes
    }
}
