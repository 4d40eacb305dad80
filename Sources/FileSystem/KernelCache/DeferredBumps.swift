/// Bumps 10 ms, 100 ms, 1 s, 10 s and 100 s after a revocation, one of each at a time. The kernel does not tell when it uses a
/// reply. These bumps end entries from stale replies, and from races that are unknown.
struct DeferredBumps: Sendable {
    private static let delays: [UInt64] = [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000]
    private var deadlines = [UInt64?](repeating: nil, count: delays.count)

    var next: UInt64? { deadlines.lazy.compactMap { $0 }.min() }

    /// Adds bumps after a revocation.
    /// - Returns: whether the next deadline is earlier than before.
    mutating func add(after now: UInt64) -> Bool {
        let before = next
        for index in deadlines.indices where deadlines[index] == nil { deadlines[index] = now + Self.delays[index] }
        return next != before
    }

    /// Removes deadlines that have passed.
    /// - Returns: whether there was one.
    mutating func take(_ now: UInt64) -> Bool {
        var wasDue = false
        for index in deadlines.indices {
            if let time = deadlines[index], time <= now { (deadlines[index], wasDue) = (nil, true) }
        }
        return wasDue
    }
}
