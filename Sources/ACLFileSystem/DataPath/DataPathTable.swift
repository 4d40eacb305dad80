import BackingStore
import LinuxSystem
import Synchronization

/// The way that the bytes of one open file take.
enum DataPath: Equatable {
    /// By READ and WRITE, and the kernel keeps pages.
    case cached
    /// By READ and WRITE, no page is kept, and nothing can be mapped shared.
    case direct
    /// From the kernel to the backing file.
    case passthrough(Int32)
    /// By READ and WRITE; a mapping is one of the backing file.
    case directWithMappings(Int32)

    var backingID: Int32? {
        switch self {
        case .cached, .direct: nil
        case .passthrough(let id), .directWithMappings(let id): id
        }
    }
}

/// What one opening asks of its path.
struct DataDemand {
    /// The object may be given to the kernel, if nobody has it open another way.
    var allowsPassthrough = true
    /// Where READ and WRITE come here, no page may be kept.
    var isUncached = false
    /// Each READ and WRITE must come here, whatever others do.
    var mustReachDaemon = false
    /// There must be no shared writable mapping.
    var mustNotBeMapped = false
    /// It could be mapped shared and writable.
    var isMappable = false
    var reads = false
    var writes = false
    /// Who opens.
    var user: UInt32 = 0
    /// While a change of the object is under way this opening may come again later, and does not go past us for good.
    var mayRetry = false
}

/// Who may hold a backing file while the kernel moves data past us.
enum DataHold {
    /// By the time that a request about the object comes from this mount's kernel, no write through this mount is under way:
    /// the kernel holds its own lock on the object for both.
    case request(from: BackingIDs)
    /// Any reader or writer.
    case any
}

/// Which way the data of each open file goes: one for all opens of an object, on all mounts of the tree, from the first
/// open to the last RELEASE. The kernel answers EIO to an open whose way does not fit the others' (docs/data-path.md
/// has the table), and pages that one mount's kernel keeps would not know of bytes that another's writes past us.
final class DataPathTable: Sendable {
    private struct Registration {
        let mount: BackingIDs
        /// nil: uncached on this mount, to the end. A kernel may take two answers in another order than they were given in.
        let id: Int32?
        var opens = 0
        /// Of these: who write past us.
        var writers = 0
    }
    private struct File {
        let isPassthrough: Bool
        var opens = 0
        /// There was a handle through which the kernel may let a program change the file without a word to us or to its
        /// own attributes.
        var wasMappable = false
        /// It has lost its last name.
        var isRemoved = false
        /// One for each mount that has it open.
        var registrations: [Registration] = []
        /// Handles by which the kernel reads past us.
        var readers = 0
        /// Who opened those by which data goes past us; nil: several users.
        var passthroughUser: UInt32?

        func isHeld(_ hold: DataHold) -> Bool {
            switch hold {
            case .request(let mount): return readers > 0 || registrations.contains { $0.mount !== mount && $0.writers > 0 }
            case .any: return readers > 0 || registrations.contains { $0.writers > 0 }
            }
        }

        mutating func notePassthrough(_ demand: DataDemand, at index: Int) {
            passthroughUser = isHeld(.any) && passthroughUser != demand.user ? nil : demand.user
            if demand.reads { readers += 1 }
            if demand.writes { registrations[index].writers += 1 }
        }
    }
    private struct State {
        var files: [ObjectKey: File] = [:]
        /// Files that were opened in a way that allows a mapping.
        var mappable = 0
        /// Objects on which a system call is under way that takes the lock of the backing file: no more than there are threads, so
        /// they are gone through one by one.
        var claims: [ObjectKey] = []
        /// No handle is left, but perhaps a mapping.
        var remainingMappings = RemainingMappings(remembering: 2048)

        var possiblyMapped: Int { remainingMappings.count + mappable }
    }
    /// Part of the table: what happens to an object holds up only those that share its part, because the kernel is asked
    /// with the lock held.
    private final class Shard: Sendable {
        let state = Lock(State())
    }

    private let shards = (0..<32).map { _ in Shard() }
    /// Objects that are open and mappable, or are in `left`.
    private let possiblyMapped = Atomic<Int>(0)
    private let usedPassthrough = Atomic<Bool>(false)

    /// Whether the kernel was ever given a file: then mappings may be left that no handle stands for.
    var hasUsedPassthrough: Bool { usedPassthrough.load(ordering: .sequentiallyConsistent) }

    /// Takes part in the way of an object until the result is gone.
    /// - Parameters:
    ///   - everyMount: could do passthrough.
    ///   - descriptor: of the object; O_PATH is enough.
    /// - Throws: `busy` if others have it open in a way that cannot be narrowed to what is demanded; `claimed` if it is to come
    ///   again.
    func acquire(
        _ key: ObjectKey, _ demand: DataDemand, on mount: BackingIDs, everyMount: Bool, _ descriptor: Int32
    ) throws(Errno) -> DataPathReference {
        try withShard(of: key) { state throws(Errno) in
            let isClaimed = state.claims.contains(key)
            if isClaimed, demand.mayRetry { throw .claimed }
            var demand = demand
            // What comes here holds nothing while a change is under way.
            if isClaimed { (demand.allowsPassthrough, demand.mustReachDaemon) = (false, true) }
            var file = state.files[key] ?? first(&state, key, demand, on: mount, everyMount: everyMount, descriptor)
            let path = try Self.path(in: &file, key, demand, on: mount, descriptor)
            let reference = DataPathReference(self, key, mount, path, demand, mayChangeUnnoticed: file.isPassthrough)
            file.opens += 1
            if reference.isMappable {
                if !file.wasMappable { state.mappable += 1 }
                file.wasMappable = true
            }
            state.files[key] = file
            return reference
        }
    }

    private func shard(of key: ObjectKey) -> Shard {
        let hash = NumberHash.spread(key.inode ^ key.device, seed: 0)
        return shards[Int(UInt(bitPattern: hash) % UInt(shards.count))]
    }

    /// As a mutex, and counts suspects.
    private func withShard<Value>(of key: ObjectKey, _ body: (inout State) throws(Errno) -> Value) throws(Errno) -> Value {
        var result = Result<Value, Errno>.failure(.io)
        shard(of: key).state.withLock { state in
            let before = state.possiblyMapped
            result = Result { () throws(Errno) in try body(&state) }
            let change = state.possiblyMapped - before
            if change != 0 { possiblyMapped.add(change, ordering: .sequentiallyConsistent) }
        }
        return try result.get()
    }

    /// The way of an object that nobody has open.
    private func first(
        _ state: inout State, _ key: ObjectKey, _ demand: DataDemand, on mount: BackingIDs, everyMount: Bool,
        _ descriptor: Int32
    ) -> File {
        if demand.allowsPassthrough, !demand.mustNotBeMapped, everyMount, let id = mount.open(key, descriptor) {
            usedPassthrough.store(true, ordering: .sequentiallyConsistent)
            return File(isPassthrough: true, registrations: [Registration(mount: mount, id: id)])
        }
        // Pages must not be kept of what a mapping may still change.
        let isMapped = state.remainingMappings.mayBeMapped(key, descriptor)
        return File(isPassthrough: isMapped, registrations: isMapped ? [Registration(mount: mount, id: nil)] : [])
    }

    private static func path(
        in file: inout File, _ key: ObjectKey, _ demand: DataDemand, on mount: BackingIDs, _ descriptor: Int32
    ) throws(Errno) -> DataPath {
        guard file.isPassthrough else {
            return demand.isUncached || demand.mustNotBeMapped ? .direct : .cached
        }
        let mustNotMap = demand.mustNotBeMapped && demand.isMappable
        let known = file.registrations.firstIndex { $0.mount === mount }
        // Whoever cannot be kept from mapping it must wait until nobody on this mount has it open this way.
        if mustNotMap, let known, file.registrations[known].id != nil { throw .busy }
        if known == nil {
            file.registrations.append(Registration(mount: mount, id: mustNotMap ? nil : mount.open(key, descriptor)))
        }
        let index = known ?? file.registrations.count - 1
        file.registrations[index].opens += 1
        // A kernel that cannot must not keep pages either.
        guard let id = file.registrations[index].id else { return .direct }
        if demand.mustReachDaemon || demand.mustNotBeMapped { return .directWithMappings(id) }
        file.notePassthrough(demand, at: index)
        return .passthrough(id)
    }

    fileprivate func release(_ reference: DataPathReference) {
        let (key, mount) = (reference.key, reference.mount)
        let unused = try? withShard(of: key) { state throws(Errno) -> (id: Int32, isRemoved: Bool)? in
            // Taken out, so that it is changed where it stands.
            guard var file = state.files.removeValue(forKey: key) else { return nil }
            var unused: (id: Int32, isRemoved: Bool)?
            file.opens -= 1
            if reference.readsDirectly { file.readers -= 1 }
            if let index = file.registrations.firstIndex(where: { $0.mount === mount }) {
                file.registrations[index].opens -= 1
                if reference.writesDirectly { file.registrations[index].writers -= 1 }
                if file.registrations[index].opens == 0, let id = file.registrations.remove(at: index).id {
                    unused = (id, file.isRemoved)
                }
            }
            if file.opens > 0 { state.files[key] = file }
            if file.opens == 0, file.wasMappable {
                state.mappable -= 1
                state.remainingMappings.insert(key)
            }
            return unused
        }
        if let unused = unused ?? nil { mount.release(unused.id, of: key, isRemoved: unused.isRemoved) }
    }

    /// Keeps the kernel from holding a backing file while a system call of ours takes its lock: until `unclaim` a caller that
    /// opens the file has its data come here.
    /// - Returns: false if it may be held already.
    func claim(_ key: ObjectKey, against hold: DataHold) -> Bool {
        shard(of: key).state.withLock { state in
            if !state.files.isEmpty, let file = state.files[key], file.isHeld(hold) { return false }
            state.claims.append(key)
            return true
        }
    }

    enum Holders { case noUser, thisUser, others }

    /// Who may hold a backing file now; where only this user may, it is claimed.
    func claimUnlessOthersHold(_ key: ObjectKey, _ user: UInt32) -> Holders {
        shard(of: key).state.withLock { state in
            guard let file = state.files[key], file.isHeld(.any) else { return .noUser }
            guard file.passthroughUser == user else { return .others }
            state.claims.append(key)
            return .thisUser
        }
    }

    func unclaim(_ key: ObjectKey) {
        shard(of: key).state.withLock { state in
            guard let index = state.claims.lastIndex(of: key) else { return }
            state.claims.swapAt(index, state.claims.count - 1)
            state.claims.removeLast()
        }
    }

    /// Whether the kernel may hold a backing file now.
    func mayBeHeld(_ key: ObjectKey, by hold: DataHold) -> Bool {
        shard(of: key).state.withLock { $0.files[key]?.isHeld(hold) ?? false }
    }

    /// A file has lost its last name.
    func noteRemoval(of key: ObjectKey) {
        shard(of: key).state.withLock { state in
            if !state.files.isEmpty, state.files[key] != nil { state.files[key]?.isRemoved = true }
        }
    }

    /// Whether attributes of the object may change without the kernel's noticing: stores into a mapping of the backing
    /// file move its times and blocks.
    /// - Parameter descriptor: of the object, a regular file; O_PATH is enough.
    func mayChangeUnnoticed(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard possiblyMapped.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let changes = try? withShard(of: key) { state throws(Errno) in
            if state.files[key]?.wasMappable == true { return true }
            // Whoever has it open without mapping it does not end the mappings of others.
            return state.remainingMappings.mayBeMapped(key, descriptor)
        }
        return changes ?? true
    }
}

/// One open file's part in the way of its object; given back when it is gone.
final class DataPathReference: Sendable {
    private let table: DataPathTable
    fileprivate let key: ObjectKey
    fileprivate let mount: BackingIDs
    let path: DataPath
    let isMappable: Bool
    /// The kernel reads, or writes, by this handle without us.
    fileprivate let readsDirectly: Bool
    fileprivate let writesDirectly: Bool
    /// READ and WRITE come here, but others write past us. splice(2) and private mappings bring pages into the kernel's
    /// cache even on an uncached handle; they must not stay.
    let mustKeepNoPages: Bool

    fileprivate init(
        _ table: DataPathTable, _ key: ObjectKey, _ mount: BackingIDs, _ path: DataPath, _ demand: DataDemand,
        mayChangeUnnoticed: Bool
    ) {
        (self.table, self.key, self.mount, self.path) = (table, key, mount, path)
        isMappable = path.backingID != nil && demand.isMappable
        let isPassthrough = if case .passthrough = path { true } else { false }
        (readsDirectly, writesDirectly) = (isPassthrough && demand.reads, isPassthrough && demand.writes)
        switch path {
        case .direct, .directWithMappings: mustKeepNoPages = mayChangeUnnoticed
        case .cached, .passthrough: mustKeepNoPages = false
        }
    }

    deinit { table.release(self) }
}
