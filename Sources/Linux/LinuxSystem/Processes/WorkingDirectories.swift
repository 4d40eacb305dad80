/// The working directories of the processes on this host, as far as /proc shows them.
public enum WorkingDirectories {
    /// The inode numbers of all working directories on one file system. The file system gets no request: the kernel knows the
    /// numbers.
    public static func inodes(onDevice device: UInt64) throws(Errno) -> Set<UInt64> {
        let proc = try Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory)
        let names = try Syscall.names(proc.rawValue)
        var inodes: Set<UInt64> = []
        for name in names where name.allSatisfy({ (0x30...0x39).contains($0) }) {
            let link = String(decoding: name, as: UTF8.self) + "/cwd"
            // The process may have ended, or /proc may hide it.
            guard
                let status = try? Syscall.statxAt(
                    proc.rawValue, link, mask: StatMask.basic, flags: AtFlag.dontSync)
            else { continue }
            if status.device == device { inodes.insert(status.inode) }
        }
        return inodes
    }
}
