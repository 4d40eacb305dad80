import BackingStore
import LinuxSystem
import Synchronization

/// How the bytes of one open file travel.
enum DataPath: Equatable {
    /// By READ and WRITE requests; the kernel keeps pages.
    case cached
    /// By READ and WRITE requests; the kernel keeps no page and allows no shared mapping.
    case direct
    /// Between the kernel and the backing file, by its backing id.
    case passthrough(Int32)
    /// By READ and WRITE requests; a mapping maps the backing file, by its backing id.
    case directWithMappings(Int32)

    var backingID: Int32? {
        switch self {
        case .cached, .direct: nil
        case .passthrough(let id), .directWithMappings(let id): id
        }
    }
}

/// What one open needs of its data path.
struct DataDemand {
    /// Passthrough is allowed, if no other handle has a path that excludes it.
    var allowsPassthrough = true
    /// Without passthrough, the kernel may keep no page.
    var isUncached = false
    /// Each READ and WRITE must reach the daemon, whatever other handles do.
    var mustReachDaemon = false
    /// No shared writable mapping is allowed.
    var mustNotBeMapped = false
    /// The handle reads and writes, so a program could map the file shared and writable.
    var isMappable = false
    var reads = false
    var writes = false
    /// The uid of the caller.
    var user: UInt32 = 0
    /// The daemon can repeat this open if a change of the object is in flight. Otherwise it gets a path through the daemon.
    var mayRetry = false
}

/// Which requests may hold the lock of a backing file while the kernel reads or writes it without the daemon.
enum DataHold {
    /// A request of this mount's kernel about the object is in flight. The kernel holds its own inode lock for that request. So no
    /// write through this mount holds the backing file.
    case request(from: BackingIDs)
    /// Any reader or writer of any mount.
    case any
}

/// The data path of each open file: one for all handles of an object, on all mounts of the tree, from the first open to the last
/// RELEASE. The kernel answers EIO to an open that does not fit (docs/internals/data-path.md "One path for all handles of a file").
final class DataPathTable: Sendable {
    private struct Registration {
        let mount: BackingIDs
        /// nil: uncached on this mount until the last RELEASE. The kernel may process two replies in another order than they were
        /// sent.
        let id: Int32?
        var opens = 0
        /// The number of these opens through which the kernel writes without the daemon.
        var writers = 0
    }
    private struct File {
        let isPassthrough: Bool
        var opens = 0
        /// Through some handle a program could map the file. Stores change it without a request and without new attributes in the
        /// kernel.
        var wasMappable = false
        /// The file has lost its last name.
        var isRemoved = false
        /// One for each mount that has the file open.
        var registrations: [Registration] = []
        /// The handles through which the kernel reads without the daemon.
        var readers = 0
        /// The uid that opened the handles with passthrough; nil: several users.
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
        /// The number of files that were opened in a way that allows a mapping.
        var mappable = 0
        /// Objects on which a system call that takes the lock of the backing file is in flight. There is at most one for each
        /// thread, so a linear search is enough.
        var claims: [ObjectKey] = []
        /// Objects without a handle that may still be mapped.
        var remainingMappings = RemainingMappings(remembering: 2048)

        var possiblyMapped: Int { remainingMappings.count + mappable }
    }
    /// One part of the table. The lock is held while the kernel registers a file, so that delays only objects of the same shard.
    private final class Shard: Sendable {
        let state = Lock(State())
    }

    private let shards = (0..<32).map { _ in Shard() }
    /// The number of objects that are open and mappable, or are in `remainingMappings`, of all shards.
    private let possiblyMapped = Atomic<Int>(0)
    private let usedPassthrough = Atomic<Bool>(false)
    private let predecessors = Predecessors()

    /// Whether the kernel ever got a backing id. Mappings without a handle can exist only then.
    var hasUsedPassthrough: Bool { usedPassthrough.load(ordering: .sequentiallyConsistent) }

    /// Adds a handle to the data path of an object, until the result is released.
    /// - Parameters:
    ///   - everyMount: all mounts of the tree could do passthrough.
    ///   - descriptor: of the object; O_PATH is enough.
    /// - Throws: `busy` if another handle's path cannot fulfil the demand; `claimed` if the caller is to repeat the open.
    func acquire(
        _ key: ObjectKey, _ demand: DataDemand, on mount: BackingIDs, everyMount: Bool, _ descriptor: Int32
    ) throws(Errno) -> DataPathReference {
        try withShard(of: key) { state throws(Errno) in
            let isClaimed = state.claims.contains(key)
            if isClaimed, demand.mayRetry { throw .claimed }
            var demand = demand
            // Requests that reach the daemon do not hold the backing file while a change is in flight. The file is registered all the
            // same: a mapping of it takes no such lock.
            if isClaimed { demand.mustReachDaemon = true }
            var file = state.files[key] ?? makeFile(&state, key, demand, on: mount, everyMount: everyMount, descriptor)
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

    /// Locks the shard of an object and keeps `possiblyMapped` up to date.
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

    /// Chooses the path of an object that has no handle.
    private func makeFile(
        _ state: inout State, _ key: ObjectKey, _ demand: DataDemand, on mount: BackingIDs, everyMount: Bool,
        _ descriptor: Int32
    ) -> File {
        if demand.allowsPassthrough, !demand.mustNotBeMapped, everyMount, let id = mount.open(key, descriptor) {
            usedPassthrough.store(true, ordering: .sequentiallyConsistent)
            return File(isPassthrough: true, registrations: [Registration(mount: mount, id: id)])
        }
        // A mapping may still change the file, so the kernel may keep no pages.
        let isMapped = state.remainingMappings.confirmMapped(key, descriptor)
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
        // This handle could map the file although it may not. It can be opened when the last handle with passthrough on this mount
        // is closed.
        if mustNotMap, let known, file.registrations[known].id != nil { throw .busy }
        if known == nil {
            file.registrations.append(Registration(mount: mount, id: mustNotMap ? nil : mount.open(key, descriptor)))
        }
        let index = known ?? file.registrations.count - 1
        file.registrations[index].opens += 1
        // A kernel without an id for the file must not keep pages either.
        guard let id = file.registrations[index].id else { return .direct }
        if demand.mustReachDaemon || demand.mustNotBeMapped { return .directWithMappings(id) }
        file.notePassthrough(demand, at: index)
        return .passthrough(id)
    }

    fileprivate func release(_ reference: DataPathReference) {
        let (key, mount) = (reference.key, reference.mount)
        let unused = try? withShard(of: key) { state throws(Errno) -> (id: Int32, isRemoved: Bool)? in
            // Removed, so that the value is changed in place without a copy.
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

    /// Keeps the kernel from holding a backing file while a system call of the daemon takes its lock. Until `unclaim`, the data of
    /// handles that are opened comes to the daemon.
    /// - Returns: false if the kernel may hold the file already.
    func claim(_ key: ObjectKey, against hold: DataHold) -> Bool {
        if predecessors.mayHoldFiles { return false }
        return shard(of: key).state.withLock { state in
            if !state.files.isEmpty, let file = state.files[key], file.isHeld(hold) { return false }
            state.claims.append(key)
            return true
        }
    }

    enum Holders { case noUser, thisUser, others }

    /// Tells which users may hold a backing file now. If only this user may, claims the file.
    func claimUnlessOthersHold(_ key: ObjectKey, _ user: UInt32) -> Holders {
        if predecessors.mayHoldFiles { return .others }
        return shard(of: key).state.withLock { state in
            guard let file = state.files[key], file.isHeld(.any) else { return .noUser }
            guard file.passthroughUser == user else { return .others }
            state.claims.append(key)
            return .thisUser
        }
    }

    /// Call before the first request: programs may have files open, and mapped, through a mount whose daemon died.
    func add(predecessor isInUse: @escaping Predecessors.IsInUse) {
        predecessors.add(isInUse)
        assumeAnyMapped()
    }

    /// Any file may be mapped that is not asked about: another process has served the mount.
    func assumeAnyMapped() {
        usedPassthrough.store(true, ordering: .sequentiallyConsistent)
        for shard in shards {
            shard.state.withLock { state in
                let before = state.possiblyMapped
                state.remainingMappings.assumeAny()
                possiblyMapped.add(state.possiblyMapped - before, ordering: .sequentiallyConsistent)
            }
        }
    }

    /// Adds a handle that another process has opened.
    /// - Parameters:
    ///   - user: the uid that opened it.
    ///   - isRemoved: the file has no name.
    /// - Returns: nil: no handle has such a path, or not beside the others of the file.
    func adopt(_ key: ObjectKey, _ saved: SavedPath, on mount: BackingIDs, by user: UInt32, isRemoved: Bool) -> DataPathReference? {
        guard let path = DataPath(saved) else { return nil }
        let isPassthrough = path.backingID != nil || saved.mustKeepNoPages
        return try? withShard(of: key) { state throws(Errno) in
            var file = state.files[key] ?? File(isPassthrough: isPassthrough)
            guard file.isPassthrough == isPassthrough else { throw .inval }
            file.isRemoved = isRemoved
            if isPassthrough {
                if file.registrations.isEmpty { file.registrations.append(Registration(mount: mount, id: path.backingID)) }
                guard file.registrations[0].id == path.backingID else { throw .inval }
                file.registrations[0].opens += 1
                if case .passthrough = path {
                    file.notePassthrough(DataDemand(reads: saved.readsDirectly, writes: saved.writesDirectly, user: user), at: 0)
                }
            }
            let reference = DataPathReference(self, key, mount, path, saved)
            file.opens += 1
            if reference.isMappable {
                if !file.wasMappable { state.mappable += 1 }
                file.wasMappable = true
            }
            state.files[key] = file
            return reference
        }
    }

    func unclaim(_ key: ObjectKey) {
        shard(of: key).state.withLock { state in
            guard let index = state.claims.lastIndex(of: key) else { return }
            state.claims.swapAt(index, state.claims.count - 1)
            state.claims.removeLast()
        }
    }

    /// Notes that a file has lost its last name.
    func noteRemoval(of key: ObjectKey) {
        shard(of: key).state.withLock { state in
            if !state.files.isEmpty, state.files[key] != nil { state.files[key]?.isRemoved = true }
        }
    }

    /// Whether attributes of the object may change without a request: stores into a mapping of the backing file move its times and
    /// blocks.
    /// - Parameter descriptor: of the object, a regular file; O_PATH is enough.
    func mayChangeUnnoticed(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard possiblyMapped.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let changes = try? withShard(of: key) { state throws(Errno) in
            if state.files[key]?.wasMappable == true { return true }
            // A handle that cannot map the file does not end the mappings of others.
            return state.remainingMappings.confirmMapped(key, descriptor)
        }
        return changes ?? true
    }
}

/// One open file's use of the data path of its object. It ends with this object.
final class DataPathReference: Sendable {
    private let table: DataPathTable
    fileprivate let key: ObjectKey
    fileprivate let mount: BackingIDs
    let path: DataPath
    let isMappable: Bool
    /// The kernel reads, or writes, through this handle without the daemon.
    fileprivate let readsDirectly: Bool
    fileprivate let writesDirectly: Bool
    /// READ and WRITE come to the daemon, but other handles write to the backing file. splice(2) and private mappings bring pages
    /// into the kernel's cache on an uncached handle too; those pages must not stay.
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

    /// As it was in another process.
    fileprivate init(_ table: DataPathTable, _ key: ObjectKey, _ mount: BackingIDs, _ path: DataPath, _ saved: SavedPath) {
        (self.table, self.key, self.mount, self.path) = (table, key, mount, path)
        (isMappable, readsDirectly, writesDirectly) = (saved.isMappable, saved.readsDirectly, saved.writesDirectly)
        mustKeepNoPages = saved.mustKeepNoPages
    }

    deinit { table.release(self) }

    var saved: SavedPath {
        SavedPath(
            kind: path.savedKind, backingID: path.backingID ?? 0, isMappable: isMappable, readsDirectly: readsDirectly,
            writesDirectly: writesDirectly, mustKeepNoPages: mustKeepNoPages)
    }
}

extension DataPath {
    fileprivate var savedKind: UInt8 {
        switch self {
        case .cached: 0
        case .direct: 1
        case .passthrough: 2
        case .directWithMappings: 3
        }
    }

    /// nil: there is no such path.
    fileprivate init?(_ saved: SavedPath) {
        switch (saved.kind, saved.backingID) {
        case (0, 0) where !saved.mustKeepNoPages: self = .cached
        case (1, 0): self = .direct
        case (2, 1...): self = .passthrough(saved.backingID)
        case (3, 1...): self = .directWithMappings(saved.backingID)
        default: return nil
        }
    }
}
