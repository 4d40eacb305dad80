import LinuxSystem

/// What has changed in the mount table since the clock's thread last read it. A bump detaches what is mounted below ours, and
/// that thread may be a while in getting there: so a bump that no taken right waits for is preceded by this question, and put
/// off until the thread has looked (docs/coherence.md "The price of a bump").
struct MountTableNews: Sendable {
    /// Nobody may put a bump off longer by mounting and unmounting without end, nanoseconds.
    static let longestDelay: UInt64 = 100_000_000

    /// Whether there was a change since this was last asked.
    private let hasChanged: @Sendable () -> Bool
    /// The clock's thread is to look.
    private(set) var isLookDue = true
    private var isLooking = false
    /// Since when bumps are put off one after the other, and when the last was, monotonic nanoseconds.
    private var putOff: (since: UInt64, last: UInt64)?

    init(_ hasChanged: @escaping @Sendable () -> Bool) { self.hasChanged = hasChanged }

    /// By a descriptor of its own: each remembers for itself what it has told.
    static func ofThisProcess() throws(Errno) -> MountTableNews {
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        return MountTableNews { Syscall.hasExceptionalCondition(table.rawValue) }
    }

    /// Whether the table has been read since its last change; or a bump was put off for so long that it is made all the same.
    mutating func isTableRead(_ now: UInt64) -> Bool {
        if hasChanged() { isLookDue = true }
        guard isLookDue || isLooking else {
            putOff = nil
            return true
        }
        let earlier = putOff.flatMap { now < $0.last + Self.longestDelay ? $0.since : nil }
        let since = earlier ?? now
        putOff = (since, now)
        return now >= since + Self.longestDelay
    }

    /// The table is read next: what changes from here on is news.
    mutating func beginLook() {
        _ = hasChanged()
        (isLookDue, isLooking) = (false, true)
    }

    /// What follows from the table is in force.
    mutating func endLook() { isLooking = false }
}
