import LinuxSystem

/// Errors that operations pass on about held objects. None of these numbers reaches the kernel: `answered` maps them.
extension Errno {
    /// The object is held, and the deadline of the caller has passed.
    static let held = Errno(rawValue: 100_000)
    /// A system call on the object could sleep. The operation is repeated on a spare thread.
    static let mayBeHeld = Errno(rawValue: 100_001)
    /// A spare thread is changing names of the directory.
    static let nameHeld = Errno(rawValue: 100_002)
    /// A change of the file is in flight; the open waits for its end.
    static let claimed = Errno(rawValue: 100_003)

    /// The number for the kernel.
    var answered: Errno { rawValue >= Errno.held.rawValue ? .busy : self }
}

/// Runs one operation and returns its value, or the errno for the reply.
func outcome<Value>(_ body: () throws(Errno) -> Value) -> Result<Value, Errno> {
    do { return .success(try body()) } catch { return .failure(error.answered) }
}
