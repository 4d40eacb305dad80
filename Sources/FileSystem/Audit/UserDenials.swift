/// The last denials of a mount, in a queue for each user and with a bound for all. Beyond the bound the longest queue loses its
/// oldest, so that a user who is denied often displaces only denials of that user.
struct UserDenials {
    private struct Slot {
        var kept: DenialLog.Kept?
        /// The next newer denial of the same user, or the next free slot.
        var next = -1
    }
    private struct Queue {
        var oldest: Int
        var newest: Int
        var count = 1
    }
    private let capacity: Int
    private var slots: [Slot] = []
    private var queues: [UInt32: Queue] = [:]

    init(capacity: Int) { self.capacity = capacity }

    var kept: [DenialLog.Kept] { slots.compactMap(\.kept) }

    mutating func add(_ kept: DenialLog.Kept) {
        let slot: Int
        if slots.count < capacity {
            slot = slots.count
            slots.append(Slot())
        } else {
            slot = removeOldest(of: userToEvict(for: kept.payer))
        }
        slots[slot] = Slot(kept: kept)
        if var queue = queues[kept.payer] {
            slots[queue.newest].next = slot
            (queue.newest, queue.count) = (slot, queue.count + 1)
            queues[kept.payer] = queue
        } else {
            queues[kept.payer] = Queue(oldest: slot, newest: slot)
        }
    }

    /// The user whose oldest denial is removed: the user of the new one, if that user has an equal part or more, which needs no search.
    /// Otherwise the one with the longest queue.
    private func userToEvict(for payer: UInt32) -> UInt32 {
        let own = queues[payer]?.count ?? 0
        if own > 0, own >= capacity / queues.count { return payer }
        return queues.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key ?? payer
    }

    private mutating func removeOldest(of payer: UInt32) -> Int {
        guard var queue = queues[payer] else { return 0 }
        let slot = queue.oldest
        (queue.oldest, queue.count) = (slots[slot].next, queue.count - 1)
        queues[payer] = queue.count > 0 ? queue : nil
        return slot
    }
}
