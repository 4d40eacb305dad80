import Authorization
import BackingStore
import Glibc
import LinuxSystem
import Synchronization

/// The thread that receives the events of watched objects, and invalidates what they make untrue in the kernels of all mounts of a tree
/// (docs/internals/coherence.md "Changes elsewhere").
final class ChangeWatch: Sendable {
    private let events: FileEvents
    private let watched: WatchedObjects
    private let isStopped = Atomic<Bool>(false)
    /// Milliseconds between two reads: what happens meanwhile comes as few events, and wakes the thread once.
    private static let pause: UInt32 = 2
    /// Milliseconds after nothing but changes by the daemon, and opens by callers who read. They come one by one, and each wake-up takes a processor from these callers.
    private static let pauseAfterCallers: UInt32 = 10
    /// Milliseconds after a bump. Each makes every kernel look up its entries anew.
    private static let pauseAfterBump: UInt32 = 20

    /// - Parameter mounts: the mounts of the tree.
    /// - Throws: `perm`, `nosys` or `inval` where there are no such events; an errno of a thread that cannot start.
    init(_ mounts: TreeMounts) throws(Errno) {
        events = try FileEvents()
        watched = mounts.share.watched
        _ = try Thread.start(name: "aclfs-changes") { [self] in
            withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 16) { room in
                while !isStopped.load(ordering: .relaxed) { receive(in: room, mounts) }
            }
        }
        watched.use(events)
    }

    /// Ends all watches, and the thread.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        watched.stop()
        events.wake()
    }

    private func receive(in room: UnsafeMutableRawBufferPointer, _ mounts: TreeMounts) {
        var changes: [FileHandle: FileEvents.Kinds] = [:]
        var hasOverflown = false
        let own = getpid()
        events.awaitEvents(in: room) { event in
            guard let handle = event.handle, !event.kinds.contains(.overflow) else {
                hasOverflown = true
                return
            }
            // What the daemon does for its callers each operation invalidates by itself.
            let kinds = event.process == own ? event.kinds.intersection(.removed) : event.kinds
            if !kinds.isEmpty { changes[handle, default: []].formUnion(kinds) }
        }
        var needsBump = hasOverflown
        var ended = hasOverflown ? watched.takeAll() : []
        let now = SystemTime.monotonic()
        var areCallers = !hasOverflown
        for (handle, kinds) in changes {
            if kinds == .opened, isRead(handle, at: now) { continue }
            areCallers = false
            guard let watch = watched.end(handle), kinds != .removed else { continue }
            ended.append(watch)
            if watch.object.kind == .directory, !kinds.isDisjoint(with: [.names, .attributes]) { needsBump = true }
        }
        // By the clock's thread, while this one goes on.
        if needsBump { mounts.forEach { $0.cache.requestBump() } }
        for watch in ended { mounts.forEach { $0.invalidateUnwatched(watch.object) } }
        SystemTime.sleep(milliseconds: needsBump ? Self.pauseAfterBump : areCallers ? Self.pauseAfterCallers : Self.pause)
    }

    /// Whether a file was opened by callers who read it without the daemon. The kernel reports that as it reports any other process.
    private func isRead(_ handle: FileHandle, at now: UInt64) -> Bool {
        guard let watch = watched.watchWithReader(handle, at: now), let descriptor = try? watch.tree.descriptor(of: watch.object) else {
            return false
        }
        return (try? Syscall.isOpenForWriting(descriptor.rawValue)) == false
    }
}
