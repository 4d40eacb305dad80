import CLinux

/// A mark of the calling thread: what it runs must hold no lock while a system call may sleep on an object that a caller
/// holds (docs/decisions/0020-held-files.md).
public enum ThreadMark {
    public static var isSet: Bool { aclfs_thread_mark() != nil }

    /// What `with` was given.
    public static var current: AnyObject? {
        aclfs_thread_mark().map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Runs `body` with the mark.
    public static func with<Result: ~Copyable, Failure: Error>(
        _ mark: AnyObject, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        aclfs_set_thread_mark(Unmanaged.passUnretained(mark).toOpaque())
        defer {
            aclfs_set_thread_mark(nil)
            withExtendedLifetime(mark) {}
        }
        return try body()
    }

    /// The calling thread runs on any processor of the process from now on, wherever the thread that started it was bound.
    public static func leaveProcessor() { aclfs_leave_processor() }
}
