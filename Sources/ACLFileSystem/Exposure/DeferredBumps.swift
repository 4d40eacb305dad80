/// Bumps some time after a revocation, against late answers, of which nothing tells when they are used, and against races that
/// nobody thought of: 10 ms, 100 ms, 1 s, 10 s and 100 s behind it, one of each at a time.
struct DeferredBumps: Sendable {
    private static let delays: [UInt64] = [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000]
    private var deadlines = [UInt64?](repeating: nil, count: delays.count)

    var next: UInt64? { deadlines.lazy.compactMap { $0 }.min() }

    /// - Returns: whether something falls due earlier than before.
    mutating func add(after now: UInt64) -> Bool {
        let before = next
        for index in deadlines.indices where deadlines[index] == nil { deadlines[index] = now + Self.delays[index] }
        return next != before
    }

    /// Whether one was due; it is due no longer.
    mutating func take(_ now: UInt64) -> Bool {
        var wasDue = false
        for index in deadlines.indices {
            if let time = deadlines[index], time <= now { (deadlines[index], wasDue) = (nil, true) }
        }
        return wasDue
    }
}
