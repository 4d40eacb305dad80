import BackingStore

/// Lines for the administrator about held objects: at most one in ten seconds, because a holder can release and hold an object at
/// any rate.
struct HeldReports {
    private static let interval: UInt64 = 10_000_000_000
    private var next: UInt64 = 0
    private var omitted = 0

    /// - Parameters:
    ///   - keys: what a caller waited for until its deadline; the first is the object, directories follow.
    ///   - now: monotonic nanoseconds.
    /// - Returns: nil if the last line is younger than ten seconds.
    mutating func line(for keys: [ObjectKey], at now: UInt64) -> String? {
        guard let key = keys.first else { return nil }
        guard now >= next else {
            omitted += 1
            return nil
        }
        let others = omitted == 0 ? "" : "; \(omitted) more since the last such line"
        (next, omitted) = (now + Self.interval, 0)
        return "inode \(key.inode) is held: a read or write of the object has not ended, and changes of the object fail with EBUSY "
            + "until it ends\(others)"
    }
}
