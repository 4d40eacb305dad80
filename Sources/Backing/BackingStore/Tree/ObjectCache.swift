import ACLFormats
import Authorization
import LinuxSystem

/// Attributes that are asked for at each first write, and by each `ls -l`, and that most objects lack.
public struct AbsentAttributes: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `security.capability`.
    public static let capabilities = AbsentAttributes(rawValue: 1)
    /// `security.selinux`.
    public static let label = AbsentAttributes(rawValue: 2)
}

/// The facts of an object that are stored besides its status.
public struct StoredFacts: Sendable {
    public let flags: FileFlags
    public let rare: RareFacts?
    /// For a directory: whether new objects in it get POSIX ACLs. nil = not read yet.
    var givesPosixACL: Bool?
    /// What the object is known not to have.
    var absent: AbsentAttributes

    init(_ record: MetadataRecord, _ posixACL: PosixACL? = nil, givesPosixACL: Bool? = nil, absent: AbsentAttributes = []) {
        flags = record.flags
        rare = .of(acl: record.acl, ownerGUID: record.ownerGUID, groupGUID: record.groupGUID, posixACL: posixACL)
        self.givesPosixACL = givesPosixACL
        self.absent = absent
    }

    /// Whether all of it could be read: what could not is asked for again.
    var isKnown: Bool { rare?.posixACL?.isUnreadable != true }
}

/// How long cached facts are valid. It is separate from them because they are large.
struct CacheValidity: Sendable {
    /// The validity of facts that were not read with their ctime, in nanoseconds.
    static let assumption: UInt64 = 1_000_000_000

    /// The object's ctime before it was read.
    var ctime: Timespec
    /// In monotonic nanoseconds; nil = valid as long as the ctime is the same.
    var expiry: UInt64?
}

/// A limited set of open O_PATH descriptors with the records last read through them: a tree of millions of objects does not need as
/// many descriptors (invariant I10). Eviction is by the clock algorithm: one reference bit, one hand.
final class ObjectCache: Sendable {
    /// The numbers of an object in statx(2).
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
        var kept: CacheValidity?
        /// With `kept`.
        var stored: StoredFacts?
    }
    private struct State {
        var index: [Number: Int] = [:]
        var slots: [Slot] = []
        var hand = 0

        /// The slot of this object.
        func position(of object: BackingObject) -> Int? {
            guard let position = index[Number(object)] else { return nil }
            return slots[position].object === object || slots[position].object.key == object.key ? position : nil
        }

        /// The slot of this object, if its record is valid with this ctime.
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

    /// The object with this number. While its descriptor is open, no other object can get the number.
    func object(device: UInt64, inode: UInt64) -> (object: BackingObject, descriptor: SharedDescriptor)? {
        state.withLock { state in
            guard let position = state.index[Number(device: device, inode: inode)] else { return nil }
            state.slots[position].wasUsed = true
            return (state.slots[position].object, state.slots[position].descriptor)
        }
    }

    // A slot is large, so its fields are read in place.

    /// The record that was cached with this ctime.
    func record(of object: BackingObject, at ctime: Timespec) -> StoredFacts? {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return nil }
            return state.slots[position].stored
        }
    }

    /// Whether new objects in a directory get POSIX ACLs; nil if that is unknown for this ctime.
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

    /// The attributes that the object is known not to have with this ctime.
    func absentAttributes(_ object: BackingObject, at ctime: Timespec) -> AbsentAttributes {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return [] }
            return state.slots[position].stored?.absent ?? []
        }
    }

    func note(absent: AbsentAttributes, _ object: BackingObject, at ctime: Timespec) {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return }
            state.slots[position].stored?.absent.formUnion(absent)
        }
    }

    /// Whether the cached record was read with this ctime, and not assumed.
    func wasRead(_ object: BackingObject, at ctime: Timespec) -> Bool {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: ctime) else { return false }
            return state.slots[position].kept?.expiry == nil
        }
    }

    /// Caches a record as long as the object's ctime is the same, if its descriptor is cached.
    func keep(_ stored: StoredFacts, at ctime: Timespec, for object: BackingObject) {
        state.withLock { state in
            guard let position = state.position(of: object) else { return }
            state.slots[position].kept = CacheValidity(ctime: ctime, expiry: nil)
            state.slots[position].stored = stored
        }
    }

    /// Assumes, for a short time, that the record of one ctime is that of a later one.
    func assume(_ ctime: Timespec, after before: Timespec, of object: BackingObject) {
        state.withLock { state in
            guard let position = state.currentRecord(of: object, at: before) else { return }
            state.slots[position].kept?.ctime = ctime
            // A further assumption does not extend the time.
            if state.slots[position].kept?.expiry == nil {
                state.slots[position].kept?.expiry = SystemTime.monotonic() + CacheValidity.assumption
            }
        }
    }

    /// Assumes, for a short time, that a record that was written is the object's with this ctime.
    func assume(_ stored: StoredFacts, at ctime: Timespec, for object: BackingObject) {
        let expiry = SystemTime.monotonic() + CacheValidity.assumption
        state.withLock { state in
            guard let position = state.position(of: object) else { return }
            state.slots[position].kept = CacheValidity(ctime: ctime, expiry: expiry)
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

    /// Removes one object, so that its descriptor does not keep the blocks of a removed file.
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
