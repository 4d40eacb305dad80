import LinuxSystem

/// Whether the mount table has changed since the clock thread last read it (docs/internals/coherence.md "The price of a bump"). A bump
/// detaches what is mounted below. So a bump without a revocation waits until that thread has read the table.
struct MountTableChanges: Sendable {
    /// Nanoseconds that changes of the mount table can defer a bump, even if they never end.
    static let longestDelay: UInt64 = 100_000_000

    /// Whether the table has changed since the last call.
    private let takeChange: @Sendable () -> Bool
    /// The clock thread must read the table.
    private(set) var isReadDue = true
    private var isReading = false
    /// When bumps were first and last deferred, in monotonic nanoseconds.
    private var deferral: (since: UInt64, last: UInt64)?

    init(_ takeChange: @escaping @Sendable () -> Bool) { self.takeChange = takeChange }

    /// Opens a descriptor of its own, because the kernel reports a change once for each descriptor.
    /// - Parameter mayDifferElsewhere: whether mounts in other namespaces may have changed since the clock thread read them.
    static func ofThisProcess(_ mayDifferElsewhere: @escaping @Sendable () -> Bool) throws(Errno) -> MountTableChanges {
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        return MountTableChanges { Syscall.hasExceptionalCondition(table.rawValue) || mayDifferElsewhere() }
    }

    /// Whether the table was read since its last change, or a bump was deferred for the longest time. Otherwise notes the deferral.
    mutating func confirmRead(_ now: UInt64) -> Bool {
        if takeChange() { isReadDue = true }
        guard isReadDue || isReading else {
            deferral = nil
            return true
        }
        let earlier = deferral.flatMap { now < $0.last + Self.longestDelay ? $0.since : nil }
        let since = earlier ?? now
        deferral = (since, now)
        return now >= since + Self.longestDelay
    }

    /// Notes that the table is read next. A later change counts as new.
    mutating func beginRead() {
        _ = takeChange()
        (isReadDue, isReading) = (false, true)
    }

    /// Notes that the consequences of the table are in force.
    mutating func endRead() { isReading = false }
}
