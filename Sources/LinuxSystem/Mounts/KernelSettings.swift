/// What the system's administrator has set for all file systems (proc_sys_fs(5)). Read each time: it may change at any time, and a kept
/// value would let through what is refused elsewhere.
public enum KernelSettings {
    /// fs.protected_hardlinks. Where it cannot be learned it is taken to be on.
    public static var protectsHardLinks: Bool {
        do throws(Errno) { return try Syscall.readAll(path: "/proc/sys/fs/protected_hardlinks").first != UInt8(ascii: "0") } catch {
            return true
        }
    }
}
