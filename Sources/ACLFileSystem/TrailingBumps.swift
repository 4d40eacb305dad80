/// Bumps some time after a revocation, against races that nobody thought of: 10 ms, 100 ms and 1 s behind it, one of
/// each at a time.
struct TrailingBumps: Sendable {
    private static let delays: [UInt64] = [10_000_000, 100_000_000, 1_000_000_000]
    private var due: (UInt64?, UInt64?, UInt64?) = (nil, nil, nil)

    var next: UInt64? { [due.0, due.1, due.2].compactMap { $0 }.min() }

    /// - Returns: whether something falls due earlier than before.
    mutating func add(after now: UInt64) -> Bool {
        let before = next
        if due.0 == nil { due.0 = now + Self.delays[0] }
        if due.1 == nil { due.1 = now + Self.delays[1] }
        if due.2 == nil { due.2 = now + Self.delays[2] }
        return next != before
    }

    /// Whether one was due; it is due no longer.
    mutating func take(_ now: UInt64) -> Bool {
        var wasDue = false
        if let time = due.0, time <= now { (due.0, wasDue) = (nil, true) }
        if let time = due.1, time <= now { (due.1, wasDue) = (nil, true) }
        if let time = due.2, time <= now { (due.2, wasDue) = (nil, true) }
        return wasDue
    }
}
