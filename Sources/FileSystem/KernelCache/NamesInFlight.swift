/// Batches of entries that are invalidated singly because a bump would detach a mount (docs/internals/coherence.md "The price of a bump"). A
/// batch is in flight until the kernel has taken the lock of each of its directories.
struct NamesInFlight: Sendable {
    struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Batch: Sendable {
        var names: ExposedEntries
        let ticket: Ticket
    }

    /// When each batch was begun, in monotonic nanoseconds.
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

    /// - Returns: false if the batch was no longer in flight.
    mutating func end(_ ticket: Ticket) -> Bool { begun.removeValue(forKey: ticket) != nil }

    mutating func removeAll() { begun.removeAll() }

    /// Notes a bump, which ends the entries in flight. Entries of listings that are still unused get a new deadline.
    mutating func restart(at now: UInt64) {
        for ticket in begun.keys { begun[ticket] = now }
    }
}
