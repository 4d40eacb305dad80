import ACLFormats
import Authorization
import LinuxSystem

/// What is stored with an object besides its status, and decisions read.
public struct StoredFacts: Sendable {
    public let flags: FileFlags
    public let rare: RareFacts?
    /// Of a directory: whether it gives POSIX ACLs to new objects. nil = not looked at yet.
    var givesPosixACL: Bool?

    init(_ record: MetadataRecord, _ posixACL: PosixACL? = nil, givesPosixACL: Bool? = nil) {
        flags = record.flags
        rare = .of(acl: record.acl, ownerGUID: record.ownerGUID, groupGUID: record.groupGUID, posixACL: posixACL)
        self.givesPosixACL = givesPosixACL
    }

    /// Whether all of it could be read: what could not is asked for again.
    var isKnown: Bool { rare?.posixACL?.isUnreadable != true }
}

/// Until when what is kept of an object may be believed: apart from that itself, which is large.
struct KeptTime: Sendable {
    /// What was not read under its ctime is believed for so long.
    static let assumption: UInt64 = 1_000_000_000

    /// That the object had before it was read.
    var ctime: Timespec
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
        init(_ object: BackingObject) { self.init(device: object.key.device, inode: object.key.inode) }

        func hash(into hasher: inout Hasher) { hasher.combine(inode) }
        func _rawHashValue(seed: Int) -> Int { NumberHash.spread(inode, seed: seed) }
    }
    private struct Slot {
        var object: BackingObject
        var descriptor: SharedDescriptor
        var wasUsed: Bool
        var kept: KeptTime?
        /// With `kept`.
        var stored: StoredFacts?
    }
    private struct State {
        var index: [Number: Int] = [:]
        var slots: [Slot] = []
        var hand = 0

        /// Where this very object stands.
        func position(of object: BackingObject) -> Int? {
            guard let position = index[Number(object)] else { return nil }
            return slots[position].object === object || slots[position].object.key == object.key ? position : nil
        }

        /// The same, if the record that is kept there may be believed while the object has this ctime.
        func currentRecord(of object: BackingObject, at ctime: Timespec) -> Int? {
            guard let position = position(of: object), slots[position].kept?.ctime == ctime else { return nil }
            if let expiry = slots[position].kept?.expiry, expiry < SystemTime.monotonic() { return nil }
            return position
        }
    }
    private let state = Lock(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 16) }

    func find(_ object: BackingObject) -> SharedDescriptor? {
        state.withLock { state in
            guard let position = state.position(of: object) else { return nil }
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

    // A slot is large, so what is asked of it is read where it stands.

    /// The record that was kept while the object had this ctime.
    func record(of object: BackingObject, at ctime: Timespec) -> StoredFacts? {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return nil }
            return state.slots[position].stored
        }
    }

    /// What is kept of a directory with this ctime; nil if that is not known.
    func givesPosixACL(_ object: BackingObject, at ctime: Timespec) -> Bool? {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return nil }
            return state.slots[position].stored?.givesPosixACL
        }
    }

    func note(givesPosixACL: Bool, _ object: BackingObject, at ctime: Timespec) {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return }
            state.slots[position].stored?.givesPosixACL = givesPosixACL
        }
    }

    /// Whether the record that is kept is the one that was read while the object had this ctime, and not an assumption.
    func wasRead(_ object: BackingObject, at ctime: Timespec) -> Bool {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return false }
            return state.slots[position].kept?.expiry == nil
        }
    }

    /// Keeps a record for as long as the object's ctime stays, if its descriptor is here.
    func keep(_ stored: StoredFacts, at ctime: Timespec, for object: BackingObject) {
        state.withLock { state in
            guard let position = state.position(of: object) else { return }
            state.slots[position].kept = KeptTime(ctime: ctime, expiry: nil)
            state.slots[position].stored = stored
        }
    }

    /// Believes the record that was kept under one ctime to be that of a later one, for a moment.
    func assume(_ ctime: Timespec, after before: Timespec, of object: BackingObject) {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: before) else { return }
            state.slots[position].kept?.ctime = ctime
            // One assumption on another does not prolong it.
            if state.slots[position].kept?.expiry == nil {
                state.slots[position].kept?.expiry = SystemTime.monotonic() + KeptTime.assumption
            }
        }
    }

    /// Believes a record that was written, and not read, to be that of an object with this ctime, for a moment.
    func assume(_ stored: StoredFacts, at ctime: Timespec, for object: BackingObject) {
        let expiry = SystemTime.monotonic() + KeptTime.assumption
        state.withLock { state in
            guard let position = state.position(of: object) else { return }
            state.slots[position].kept = KeptTime(ctime: ctime, expiry: expiry)
            state.slots[position].stored = stored
        }
    }

    func insert(_ descriptor: SharedDescriptor, for object: BackingObject) {
        state.withLock { state in
            let number = Number(object)
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
            state.index[Number(state.slots[state.hand].object)] = nil
            state.index[number] = state.hand
            state.slots[state.hand] = Slot(object: object, descriptor: descriptor, wasUsed: false)
            state.hand = (state.hand + 1) % capacity
        }
    }

    func removeAll() {
        state.withLock { state in
            state.index.removeAll(keepingCapacity: true)
            state.slots.removeAll(keepingCapacity: true)
            state.hand = 0
        }
    }

    /// Forgets one object, so that a cached descriptor does not keep a removed file's blocks.
    func remove(_ object: BackingObject) {
        state.withLock { state in
            guard let position = state.position(of: object) else { return }
            state.index[Number(object)] = nil
            let last = state.slots.count - 1
            if position != last {
                state.slots[position] = state.slots[last]
                state.index[Number(state.slots[position].object)] = position
            }
            state.slots.removeLast()
            if state.hand >= state.slots.count { state.hand = 0 }
        }
    }
}
