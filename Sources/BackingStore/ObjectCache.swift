import ACLFormats
import LinuxSystem
import Synchronization

/// A record and the ctime that the object had before it was read.
struct KeptRecord: Sendable {
    var ctime: Timespec
    var record: MetadataRecord
}

/// A bounded set of open O_PATH descriptors with the records last read through them, so that a tree of millions
/// needs no descriptor each (invariant I10). Eviction is by the clock algorithm: one reference bit, one hand.
final class ObjectCache: Sendable {
    private struct Slot {
        var key: ObjectKey
        var descriptor: SharedDescriptor
        var wasUsed: Bool
        var record: KeptRecord?
    }
    private struct State {
        var index: [ObjectKey: Int] = [:]
        var slots: [Slot] = []
        var hand = 0
    }
    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 16) }

    func find(_ key: ObjectKey) -> SharedDescriptor? {
        state.withLock { state in
            guard let position = state.index[key] else { return nil }
            state.slots[position].wasUsed = true
            return state.slots[position].descriptor
        }
    }

    /// The record that was kept while the object had this ctime.
    func record(of key: ObjectKey, at ctime: Timespec) -> MetadataRecord? {
        state.withLock { state in
            guard let position = state.index[key], let kept = state.slots[position].record, kept.ctime == ctime else {
                return nil
            }
            return kept.record
        }
    }

    /// Keeps a record for as long as the object's ctime stays, if its descriptor is here.
    func keep(_ record: MetadataRecord, at ctime: Timespec, for key: ObjectKey) {
        state.withLock { state in
            guard let position = state.index[key] else { return }
            state.slots[position].record = KeptRecord(ctime: ctime, record: record)
        }
    }

    func insert(_ descriptor: SharedDescriptor, for key: ObjectKey) {
        state.withLock { state in
            if let position = state.index[key] {
                state.slots[position].descriptor = descriptor
                return
            }
            if state.slots.count < capacity {
                state.index[key] = state.slots.count
                state.slots.append(Slot(key: key, descriptor: descriptor, wasUsed: false))
                return
            }
            while state.slots[state.hand].wasUsed {
                state.slots[state.hand].wasUsed = false
                state.hand = (state.hand + 1) % capacity
            }
            state.index[state.slots[state.hand].key] = nil
            state.index[key] = state.hand
            state.slots[state.hand] = Slot(key: key, descriptor: descriptor, wasUsed: false)
            state.hand = (state.hand + 1) % capacity
        }
    }

    /// Forgets one object, so that a cached descriptor does not keep a removed file's blocks.
    func remove(_ key: ObjectKey) {
        state.withLock { state in
            guard let position = state.index.removeValue(forKey: key) else { return }
            let last = state.slots.count - 1
            if position != last {
                state.slots[position] = state.slots[last]
                state.index[state.slots[position].key] = position
            }
            state.slots.removeLast()
            if state.hand >= state.slots.count { state.hand = 0 }
        }
    }
}
