import LinuxSystem

/// What operations tell one another about a held object. None of these numbers reaches the kernel: `answered` says what does.
extension Errno {
    /// The object is held, and the time that a caller may wait for it is over.
    static let held = Errno(rawValue: 100_000)
    /// A system call on the object could sleep: the operation is run again on a spare thread.
    static let mayBeHeld = Errno(rawValue: 100_001)
    /// The names of a directory are being changed on a spare thread.
    static let nameHeld = Errno(rawValue: 100_002)
    /// A change of the file is under way: opening waits for its end.
    static let claimed = Errno(rawValue: 100_003)

    /// The number for the kernel.
    var answered: Errno { rawValue >= Errno.held.rawValue ? .busy : self }
}

/// Runs one operation; its error becomes the reply's errno.
func outcome<Value>(_ body: () throws(Errno) -> Value) -> Result<Value, Errno> {
    do { return .success(try body()) } catch { return .failure(error.answered) }
}
