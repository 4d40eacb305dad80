import Authorization
import BackingStore
import LinuxSystem
import Synchronization

/// The objects at rest whose changes elsewhere the kernel reports (docs/internals/coherence.md "Changes elsewhere"), of all mounts of one tree.
///
/// An object is watched from a question of a kernel about an object that rests until something happens to it. Its kernels may keep what they
/// know of it for as long. This table decides nothing about timeouts and sends no notification.
final class WatchedObjects: Sendable {
    /// Bytes of all watched objects: an inode that stays in memory, what the kernel keeps for its events, and an entry of this table.
    static let budget = 64 << 20
    static let bytesForEach = 1792
    private let capacity: Int
    /// Nanoseconds. A younger watch does not make room for another.
    private static let shortestWatch: UInt64 = 60_000_000_000

    /// One watched object.
    final class Watch: Sendable {
        let object: BackingObject
        let tree: BackingTree
        /// Monotonic nanoseconds.
        let beginning: UInt64
        /// `WatchedObjects.marks` once the kernel reported its changes.
        let mark: UInt64
        /// The first ctime that was read while the object was watched, and the last one that was confirmed. Used under the lock of the shard.
        fileprivate nonisolated(unsafe) var since: Timespec?
        fileprivate nonisolated(unsafe) var ctime: Timespec?
        /// Of a directory: its status when it was last read, and when; used under the lock of the shard.
        fileprivate nonisolated(unsafe) var kept: KeptStatus?
        /// When a caller last opened the file for reading without the daemon, in monotonic nanoseconds. Used under the lock of the shard.
        fileprivate nonisolated(unsafe) var lastReader: UInt64 = 0

        fileprivate let hasEnded = Atomic<Bool>(false)

        fileprivate init(_ object: BackingObject, _ tree: BackingTree, at now: UInt64, mark: UInt64) {
            (self.object, self.tree, beginning, self.mark) = (object, tree, now, mark)
        }

        /// Ends its events. An object that is gone takes them along.
        fileprivate func end(_ events: FileEvents?) {
            hasEnded.store(true, ordering: .relaxed)
            guard let events, let descriptor = try? tree.descriptor(of: object) else { return }
            try? events.remove(descriptor.rawValue, isDirectory: object.kind == .directory)
        }
    }

    /// What was read of a directory with the metadata lock held.
    fileprivate struct KeptStatus {
        var status: FileStatus
        /// Before it was read, in monotonic nanoseconds.
        var time: UInt64
        /// `ReadWriteLock.writesAfter` of the metadata lock.
        var writes: UInt64
    }
    /// Nanoseconds for which a status is kept.
    private static let longestKept: UInt64 = 1_000_000_000

    private struct Key: Hashable {
        var handle: FileHandle

        func hash(into hasher: inout Hasher) { hasher.combine(handle.number) }
        func _rawHashValue(seed: Int) -> Int { NumberHash.spread(handle.number, seed: seed) }
    }
    /// The lock is held while an object is added to the events or removed from them, so that both agree with the table.
    private final class Shard: Sendable {
        let watches = Lock<[Key: Watch]>([:])
    }

    /// - Parameter capacity: the most objects that are watched at a time.
    init(capacity: Int = budget / bytesForEach) { self.capacity = capacity }

    private let shards = (0..<16).map { _ in Shard() }
    private let count = Atomic<Int>(0)
    private let begun = Atomic<UInt64>(0)
    private struct Source {
        var events: FileEvents?
    }
    private let source = Lock(Source())
    private let isActive = Atomic<Bool>(false)
    private let refusals = Atomic<Int>(0)
    /// The watches in the order in which they began, to make room.
    private let order = Lock(WatchOrder())

    private func shard(of handle: FileHandle) -> Shard {
        shards[Int(UInt(bitPattern: NumberHash.spread(handle.number, seed: 1)) % UInt(shards.count))]
    }

    /// Begins to use events.
    func use(_ events: FileEvents) {
        source.withLock { $0.events = events }
        isActive.store(true, ordering: .sequentiallyConsistent)
    }

    /// Ends the use of events, and all watches.
    func stop() {
        isActive.store(false, ordering: .sequentiallyConsistent)
        _ = takeAll()
        source.withLock { $0.events = nil }
    }

    /// Whether an object may be watched.
    func mayWatch(_ object: BackingObject, in tree: BackingTree) -> Bool {
        guard isActive.load(ordering: .relaxed), object.key.handle != nil else { return false }
        switch object.kind {
        case .file, .directory, .symlink: return tree.tellsOfEveryChange(object)
        case .fifo, .socket, .characterDevice, .blockDevice: return false
        }
    }

    /// Whether an object is watched and had this ctime when that was last confirmed: whatever changes it next is told.
    func isWatched(_ key: ObjectKey, at ctime: Timespec) -> Bool {
        guard isActive.load(ordering: .relaxed), let handle = key.handle else { return false }
        return shard(of: handle).watches.withLock { $0[Key(handle: handle)]?.ctime == ctime }
    }

    /// Whether a watch of the object has begun, whatever has happened since.
    func isWatched(_ key: ObjectKey) -> Bool {
        guard isActive.load(ordering: .relaxed), let handle = key.handle else { return false }
        return shard(of: handle).watches.withLock { $0[Key(handle: handle)]?.since != nil }
    }

    /// The number of watches that have begun. Whatever is looked up after this is read, these watches report its later changes.
    var marks: UInt64 { begun.load(ordering: .acquiring) }

    /// Whether a directory was watched already when it had this ctime, and is since: what others have changed in it was told. A change by the
    /// daemon moves the ctime, and the kernel knows of it.
    /// - Parameter marks: the watch is one of the first so many.
    func isWatched(_ key: ObjectKey, sinceBefore ctime: Timespec, at marks: UInt64 = .max) -> Bool {
        guard isActive.load(ordering: .relaxed), let handle = key.handle else { return false }
        return shard(of: handle).watches.withLock { watches in
            guard let watch = watches[Key(handle: handle)], watch.mark <= marks, let since = watch.since else { return false }
            return (since.sec, since.nsec) <= (ctime.sec, ctime.nsec)
        }
    }

    /// Begins to watch an object. What its ctime is now must be read after this returns, and confirmed.
    /// - Returns: nil if it cannot be watched.
    func begin(_ object: BackingObject, _ descriptor: Int32, in tree: BackingTree, at now: UInt64) -> Watch? {
        guard let handle = object.key.handle, let events = source.withLock({ $0.events }) else { return nil }
        return shard(of: handle).watches.withLock { watches in
            if let watch = watches[Key(handle: handle)] { return watch }
            guard count.load(ordering: .relaxed) < capacity else { return nil }
            do throws(Errno) { try events.add(descriptor, isDirectory: object.kind == .directory) } catch {
                // A file system that refuses the first ones refuses all.
                if refusals.add(1, ordering: .relaxed).newValue > 8, count.load(ordering: .relaxed) == 0 {
                    isActive.store(false, ordering: .sequentiallyConsistent)
                }
                return nil
            }
            let watch = Watch(object, tree, at: now, mark: begun.add(1, ordering: .acquiringAndReleasing).newValue)
            watches[Key(handle: handle)] = watch
            count.add(1, ordering: .relaxed)
            order.withLock { $0.append(watch) }
            return watch
        }
    }

    /// Notes the ctime that an object has, read since its watch began.
    /// - Returns: false if the watch has ended meanwhile.
    func confirm(_ watch: Watch, _ ctime: Timespec) -> Bool {
        guard let handle = watch.object.key.handle else { return false }
        return shard(of: handle).watches.withLock { watches in
            guard watches[Key(handle: handle)] === watch else { return false }
            watch.ctime = ctime
            if watch.since == nil { watch.since = ctime }
            return true
        }
    }

    /// The status of a directory as it was read within the last second, since which nobody has changed its owner, mode or record: others would have
    /// been told of, and callers change them with the metadata lock held for writing. Times, link count and size may be older than the names.
    /// - Parameters:
    ///   - tree: that read it.
    ///   - writes: `writesBefore` of the metadata lock, which the caller holds.
    func keptStatus(of key: ObjectKey, in tree: BackingTree, at writes: UInt64) -> FileStatus? {
        guard isActive.load(ordering: .relaxed), count.load(ordering: .relaxed) > 0, let handle = key.handle else { return nil }
        return shard(of: handle).watches.withLock { watches in
            guard let watch = watches[Key(handle: handle)], watch.tree === tree, let kept = watch.kept, kept.writes == writes,
                SystemTime.monotonic() < kept.time + Self.longestKept
            else { return nil }
            return kept.status
        }
    }

    /// Keeps the status of a directory, if it was read since its watch began.
    /// - Parameters:
    ///   - marks: `marks` before it was read.
    ///   - writes: `writesAfter` of the metadata lock, held since then.
    ///   - time: before it was read, in monotonic nanoseconds.
    /// - Returns: whether it is kept.
    func keep(
        _ status: FileStatus, of key: ObjectKey, in tree: BackingTree, at marks: UInt64, _ writes: UInt64, since time: UInt64
    ) -> Bool {
        guard isActive.load(ordering: .relaxed), count.load(ordering: .relaxed) > 0, let handle = key.handle else { return false }
        return shard(of: handle).watches.withLock { watches in
            guard let watch = watches[Key(handle: handle)], watch.tree === tree, watch.mark <= marks else { return false }
            watch.kept = KeptStatus(status: status, time: time, writes: writes)
            return true
        }
    }

    /// Keeps what is kept over a turn for writing that changed nothing of it.
    func renewKept(_ key: ObjectKey, in tree: BackingTree, from before: UInt64, to after: UInt64) {
        guard let handle = key.handle else { return }
        shard(of: handle).watches.withLock { watches in
            guard let watch = watches[Key(handle: handle)], watch.tree === tree, watch.kept?.writes == before else { return }
            watch.kept?.writes = after
        }
    }

    /// Ends the watch of an object.
    /// - Returns: the watch; nil if there was none.
    func end(_ handle: FileHandle) -> Watch? {
        // Also when no further watch begins: one that began in that moment has to end.
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        let events = source.withLock { $0.events }
        return shard(of: handle).watches.withLock { watches in
            guard let watch = watches.removeValue(forKey: Key(handle: handle)) else { return nil }
            count.subtract(1, ordering: .relaxed)
            watch.end(events)
            return watch
        }
    }

    /// Ends all watches.
    func takeAll() -> [Watch] {
        let events = source.withLock { $0.events }
        var all: [Watch] = []
        for shard in shards {
            shard.watches.withLock { watches in
                for watch in watches.values {
                    watch.end(events)
                    all.append(watch)
                }
                count.subtract(watches.count, ordering: .relaxed)
                watches.removeAll()
            }
        }
        return all
    }

    /// If there is no room, ends the oldest watches that have lasted long enough.
    /// - Returns: these.
    func makeRoom(at now: UInt64) -> [Watch] {
        guard count.load(ordering: .relaxed) >= capacity else { return [] }
        var ended: [Watch] = []
        // A few at a time: a caller waits for it.
        while ended.count < 32, let old = order.withLock({ $0.takeFirst(begunBefore: now, Self.shortestWatch) }) {
            if !old.hasEnded.load(ordering: .relaxed), let handle = old.object.key.handle, let watch = end(handle) { ended.append(watch) }
        }
        return ended
    }

    /// Notes that a caller opens a file for reading without the daemon: the kernel reports that in the caller's name.
    func noteReader(_ key: ObjectKey) {
        guard isActive.load(ordering: .relaxed), count.load(ordering: .relaxed) > 0, let handle = key.handle else { return }
        shard(of: handle).watches.withLock { $0[Key(handle: handle)]?.lastReader = SystemTime.monotonic() }
    }

    /// The watch of an object that a caller opened for reading without the daemon within the last second.
    func watchWithReader(_ handle: FileHandle, at now: UInt64) -> Watch? {
        shard(of: handle).watches.withLock { watches in
            guard let watch = watches[Key(handle: handle)], watch.lastReader != 0, now < watch.lastReader + 1_000_000_000 else {
                return nil
            }
            return watch
        }
    }

    /// The number of watched objects, and bytes for them.
    var usage: (objects: Int, bytes: Int) {
        let objects = count.load(ordering: .relaxed)
        return (objects, objects * Self.bytesForEach)
    }
}

/// Watches in the order in which they began. Some have ended since.
private struct WatchOrder {
    private var watches: [WatchedObjects.Watch] = []
    private var first = 0

    mutating func append(_ watch: WatchedObjects.Watch) {
        watches.append(watch)
        guard watches.count > 2 * WatchedObjects.budget / WatchedObjects.bytesForEach else { return }
        watches = watches[first...].filter { !$0.hasEnded.load(ordering: .relaxed) }
        first = 0
    }

    mutating func takeFirst(begunBefore now: UInt64, _ age: UInt64) -> WatchedObjects.Watch? {
        guard first < watches.count, watches[first].beginning + age < now else { return nil }
        defer {
            first += 1
            if first > 4096, first > watches.count / 2 {
                watches.removeFirst(first)
                first = 0
            }
        }
        return watches[first]
    }
}
