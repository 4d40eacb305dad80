import CLinux

/// A mark of the calling thread: with it no lock may be held while a system call may sleep on a held file
/// (docs/decisions/0020-held-files.md).
public enum ThreadMark {
    public static var isSet: Bool { aclfs_thread_mark() != nil }

    /// The argument of `with`.
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

    /// Lets the calling thread run on any processor of the process, whatever its starter was bound to.
    public static func leaveProcessor() { aclfs_leave_processor() }
}
