/// What is being taken back name by name because a bump would do harm: each batch from when it is begun until the
/// kernel has taken the lock of every directory in it (docs/coherence.md "The price of a bump").
struct NamesInFlight: Sendable {
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Batch: Sendable {
        var names: ExposedEntries
        let ticket: Ticket
    }

    /// Since when, monotonic nanoseconds.
    private var begun: [Ticket: UInt64] = [:]
    private var count: UInt64 = 0

    var isEmpty: Bool { begun.isEmpty }
    var oldest: UInt64? { begun.values.min() }

    func contains(_ ticket: Ticket) -> Bool { begun[ticket] != nil }

    mutating func begin(_ names: ExposedEntries, at now: UInt64) -> Batch {
        count += 1
        let ticket = Ticket(number: count)
        begun[ticket] = now
        return Batch(names: names, ticket: ticket)
    }

    /// - Returns: false if it counted no longer.
    mutating func end(_ ticket: Ticket) -> Bool { begun.removeValue(forKey: ticket) != nil }

    mutating func removeAll() { begun.removeAll() }

    /// A bump has ended what was in flight. What a listing shows that is still held counts anew from when it is used.
    mutating func restart(at now: UInt64) {
        for ticket in begun.keys { begun[ticket] = now }
    }
}
