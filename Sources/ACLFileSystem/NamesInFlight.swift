/// What is being taken back name by name because a bump would do harm: each batch from when it is begun until the
/// kernel has taken the lock of every directory in it (docs/coherence.md, "The price of a bump").
struct NamesInFlight: Sendable {
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private var begun: [Ticket: UInt64?] = [:]
    private var count: UInt64 = 0

    var isEmpty: Bool { begun.isEmpty }

    /// - Parameter since: from when on it may last a period only, monotonic nanoseconds; nil if whoever takes the names
    ///   back sees to that.
    mutating func begin(since: UInt64?) -> Ticket {
        count += 1
        let ticket = Ticket(number: count)
        begun.updateValue(since, forKey: ticket)
        return ticket
    }

    /// - Returns: false if it counted no longer.
    mutating func end(_ ticket: Ticket) -> Bool { begun.removeValue(forKey: ticket) != nil }

    mutating func removeAll() { begun.removeAll() }

    /// Since when the oldest of those that may not last has lasted.
    var oldest: UInt64? { begun.values.compactMap { $0 }.min() }

    /// A bump has ended what was in flight. What a listing shows that is still held counts anew from when it is used.
    mutating func restart(at now: UInt64) {
        for ticket in begun.keys where begun[ticket] != .some(nil) { begun.updateValue(now, forKey: ticket) }
    }
}
