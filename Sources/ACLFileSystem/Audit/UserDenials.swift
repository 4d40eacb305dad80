/// The last denials of a mount, each user's apart, in room that does not grow.
///
/// Where all is full, the user with the largest part loses its oldest. Who is refused again and again so loses denials of its own only.
struct UserDenials {
    private struct Slot {
        var kept: DenialLog.Kept?
        /// The next newer one of the same user, or the next free slot.
        var next = -1
    }
    private struct Part {
        var oldest: Int
        var newest: Int
        var count = 1
    }
    private let capacity: Int
    private var slots: [Slot] = []
    private var parts: [UInt32: Part] = [:]

    init(capacity: Int) { self.capacity = capacity }

    var kept: [DenialLog.Kept] { slots.compactMap(\.kept) }

    mutating func add(_ kept: DenialLog.Kept) {
        let place: Int
        if slots.count < capacity {
            place = slots.count
            slots.append(Slot())
        } else {
            place = removeOldest(of: whoMakesRoom(for: kept.uid))
        }
        slots[place] = Slot(kept: kept)
        if var part = parts[kept.uid] {
            slots[part.newest].next = place
            (part.newest, part.count) = (place, part.count + 1)
            parts[kept.uid] = part
        } else {
            parts[kept.uid] = Part(oldest: place, newest: place)
        }
    }

    /// Who has an equal part or more needs no search: its own oldest goes.
    private func whoMakesRoom(for uid: UInt32) -> UInt32 {
        let own = parts[uid]?.count ?? 0
        if own > 0, own >= capacity / parts.count { return uid }
        return parts.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key ?? uid
    }

    private mutating func removeOldest(of uid: UInt32) -> Int {
        guard var part = parts[uid] else { return 0 }
        let place = part.oldest
        (part.oldest, part.count) = (slots[place].next, part.count - 1)
        parts[uid] = part.count > 0 ? part : nil
        return place
    }
}
