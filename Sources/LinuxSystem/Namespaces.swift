/// Namespaces of processes, as /proc names them.
public enum Namespaces {
    /// Whether a process is in our own user namespace. Errors: noent if it has gone or is not seen from here, acces if it
    /// is none of our business.
    public static func sharesUserNamespace(_ pid: Int32) throws(Errno) -> Bool {
        guard pid > 0 else { throw .noent }
        let theirs = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/\(pid)/ns/user")
        return try theirs == Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/ns/user")
    }
}
