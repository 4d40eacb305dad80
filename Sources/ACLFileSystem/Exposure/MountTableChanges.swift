import LinuxSystem

/// What has changed in the mount table since the clock's thread last read it. A bump detaches what is mounted below ours, and
/// that thread may be a while in getting there: so a bump that no taken right waits for is preceded by this question, and put
/// off until the thread has looked (docs/coherence.md "The price of a bump").
struct MountTableChanges: Sendable {
    /// Nobody may put a bump off longer by mounting and unmounting without end, nanoseconds.
    static let longestDelay: UInt64 = 100_000_000

    /// Whether there was a change since this was last asked.
    private let hasChanged: @Sendable () -> Bool
    /// The clock's thread is to look.
    private(set) var isReadDue = true
    private var isReading = false
    /// Since when bumps are put off one after the other, and when the last was, monotonic nanoseconds.
    private var deferral: (since: UInt64, last: UInt64)?

    init(_ hasChanged: @escaping @Sendable () -> Bool) { self.hasChanged = hasChanged }

    /// By a descriptor of its own: each remembers for itself what it has told.
    static func ofThisProcess() throws(Errno) -> MountTableChanges {
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        return MountTableChanges { Syscall.hasExceptionalNews(table.rawValue) }
    }

    /// Whether the table has been read since its last change; or a bump was put off for so long that it is made all the same.
    mutating func confirmRead(_ now: UInt64) -> Bool {
        if hasChanged() { isReadDue = true }
        guard isReadDue || isReading else {
            deferral = nil
            return true
        }
        let earlier = deferral.flatMap { now < $0.last + Self.longestDelay ? $0.since : nil }
        let since = earlier ?? now
        deferral = (since, now)
        return now >= since + Self.longestDelay
    }

    /// The table is read next: what changes from here on is news.
    mutating func beginRead() {
        _ = hasChanged()
        (isReadDue, isReading) = (false, true)
    }

    /// What follows from the table is in force.
    mutating func endRead() { isReading = false }
}
