import BackingStore

/// What an administrator is told of held objects: one line for each, and no more than one in ten seconds, because a holder can
/// let go and come again as often as he likes.
struct HeldReports {
    private static let interval: UInt64 = 10_000_000_000
    private var next: UInt64 = 0
    private var omitted = 0

    /// - Parameters:
    ///   - keys: what somebody has waited for in vain; the first is the object, directories follow it.
    ///   - now: monotonic nanoseconds.
    /// - Returns: nil if it is too early for another line.
    mutating func line(for keys: [ObjectKey], at now: UInt64) -> String? {
        guard let key = keys.first else { return nil }
        guard now >= next else {
            omitted += 1
            return nil
        }
        let others = omitted == 0 ? "" : "; \(omitted) more since the last such line"
        (next, omitted) = (now + Self.interval, 0)
        return "inode \(key.inode) is held: a read or write of it does not end, and until then changes of it fail with EBUSY\(others)"
    }
}
