import CLinux

/// A mark of the calling thread: what it runs must hold no lock while a system call may sleep on an object that a caller
/// holds (docs/decisions/0020-held-files.md).
public enum ThreadMark {
    public static var isSet: Bool { aclfs_thread_mark() != 0 }

    /// Runs `body` with the mark.
    public static func with<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        aclfs_set_thread_mark(1)
        defer { aclfs_set_thread_mark(0) }
        return try body()
    }

    /// The calling thread runs on any processor of the process from now on, wherever the thread that started it was bound.
    public static func leaveProcessor() { aclfs_leave_processor() }
}
