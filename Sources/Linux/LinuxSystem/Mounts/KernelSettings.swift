/// Settings of the system's administrator for all file systems (proc_sys_fs(5)). They are read each time: a kept value could allow
/// what other file systems refuse.
public enum KernelSettings {
    /// fs.protected_hardlinks. If it cannot be read, it counts as on.
    public static var protectsHardLinks: Bool {
        do throws(Errno) { return try Syscall.readAll(path: "/proc/sys/fs/protected_hardlinks").first != UInt8(ascii: "0") } catch {
            return true
        }
    }
}
