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
            slot = removeOldest(of: userToEvict(for: kept.uid))
        }
        slots[slot] = Slot(kept: kept)
        if var queue = queues[kept.uid] {
            slots[queue.newest].next = slot
            (queue.newest, queue.count) = (slot, queue.count + 1)
            queues[kept.uid] = queue
        } else {
            queues[kept.uid] = Queue(oldest: slot, newest: slot)
        }
    }

    /// The user whose oldest denial is removed: the user of the new one, if that user has an equal part or more, which needs no search.
    /// Otherwise the one with the longest queue.
    private func userToEvict(for uid: UInt32) -> UInt32 {
        let own = queues[uid]?.count ?? 0
        if own > 0, own >= capacity / queues.count { return uid }
        return queues.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key ?? uid
    }

    private mutating func removeOldest(of uid: UInt32) -> Int {
        guard var queue = queues[uid] else { return 0 }
        let slot = queue.oldest
        (queue.oldest, queue.count) = (slots[slot].next, queue.count - 1)
        queues[uid] = queue.count > 0 ? queue : nil
        return slot
    }
}
