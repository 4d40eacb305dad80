import ACLFormats
import LinuxSystem
import Synchronization

/// A record and the ctime that the object had before it was read.
struct KeptRecord: Sendable {
    /// A record that was not read under its ctime is believed for so long.
    static let assumption: UInt64 = 1_000_000_000

    var ctime: Timespec
    var record: MetadataRecord
    /// Monotonic nanoseconds; nil = as long as the ctime stays.
    var expiry: UInt64?
}

/// A bounded set of open O_PATH descriptors with the records last read through them, so that a tree of millions
/// needs no descriptor each (invariant I10). Eviction is by the clock algorithm: one reference bit, one hand.
final class ObjectCache: Sendable {
    /// What statx(2) names an object by.
    private struct Number: Hashable {
        var device: UInt64
        var inode: UInt64

        init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }
        init(_ key: ObjectKey) { self.init(device: key.device, inode: key.inode) }

        func hash(into hasher: inout Hasher) { hasher.combine(inode) }
    }
    private struct Slot {
        var object: BackingObject
        var descriptor: SharedDescriptor
        var wasUsed: Bool
        var record: KeptRecord?
    }
    private struct State {
        var index: [Number: Int] = [:]
        var slots: [Slot] = []
        var hand = 0

        /// Where this very object stands.
        func position(of key: ObjectKey) -> Int? {
            guard let position = index[Number(key)], slots[position].object.key == key else { return nil }
            return position
        }
    }
    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 16) }

    func find(_ key: ObjectKey) -> SharedDescriptor? {
        state.withLock { state in
            guard let position = state.position(of: key) else { return nil }
            state.slots[position].wasUsed = true
            return state.slots[position].descriptor
        }
    }

    /// The object under a number that is its own while its descriptor is open: no other can get it meanwhile.
    func object(device: UInt64, inode: UInt64) -> (object: BackingObject, descriptor: SharedDescriptor)? {
        state.withLock { state in
            guard let position = state.index[Number(device: device, inode: inode)] else { return nil }
            state.slots[position].wasUsed = true
            return (state.slots[position].object, state.slots[position].descriptor)
        }
    }

    /// The record that was kept while the object had this ctime.
    func record(of key: ObjectKey, at ctime: Timespec) -> MetadataRecord? {
        state.withLock { state in
            guard let position = state.position(of: key), let kept = state.slots[position].record, kept.ctime == ctime else {
                return nil
            }
            if let expiry = kept.expiry, expiry < SystemTime.monotonic() { return nil }
            return kept.record
        }
    }

    /// Keeps a record for as long as the object's ctime stays, if its descriptor is here.
    /// - Parameter isAssumed: it was not read under this ctime.
    func keep(_ record: MetadataRecord, at ctime: Timespec, for key: ObjectKey, isAssumed: Bool = false) {
        state.withLock { state in
            guard let position = state.position(of: key) else { return }
            // One assumption on another does not prolong it.
            let expiry =
                isAssumed
                ? state.slots[position].record?.expiry ?? SystemTime.monotonic() + KeptRecord.assumption : nil
            state.slots[position].record = KeptRecord(ctime: ctime, record: record, expiry: expiry)
        }
    }

    func insert(_ descriptor: SharedDescriptor, for object: BackingObject) {
        state.withLock { state in
            let number = Number(object.key)
            if let position = state.index[number] {
                if state.slots[position].object.key == object.key {
                    state.slots[position].descriptor = descriptor
                } else {
                    state.slots[position] = Slot(object: object, descriptor: descriptor, wasUsed: false)
                }
                return
            }
            if state.slots.count < capacity {
                state.index[number] = state.slots.count
                state.slots.append(Slot(object: object, descriptor: descriptor, wasUsed: false))
                return
            }
            while state.slots[state.hand].wasUsed {
                state.slots[state.hand].wasUsed = false
                state.hand = (state.hand + 1) % capacity
            }
            state.index[Number(state.slots[state.hand].object.key)] = nil
            state.index[number] = state.hand
            state.slots[state.hand] = Slot(object: object, descriptor: descriptor, wasUsed: false)
            state.hand = (state.hand + 1) % capacity
        }
    }

    /// Forgets one object, so that a cached descriptor does not keep a removed file's blocks.
    func remove(_ key: ObjectKey) {
        state.withLock { state in
            guard let position = state.position(of: key) else { return }
            state.index[Number(key)] = nil
            let last = state.slots.count - 1
            if position != last {
                state.slots[position] = state.slots[last]
                state.index[Number(state.slots[position].object.key)] = position
            }
            state.slots.removeLast()
            if state.hand >= state.slots.count { state.hand = 0 }
        }
    }
}
