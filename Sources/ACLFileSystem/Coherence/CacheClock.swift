import BackingStore
import LinuxSystem
import Synchronization

/// The thread that takes names back when their time has come, and watches what is mounted below.
final class CacheClock: Sendable {
    private let waiter: Waiter
    private let isStopped = Atomic<Bool>(false)

    /// - Parameter device: of our mount; nil if it is not known, then no mount below is seen.
    init(_ fileSystem: FileSystem, device: UInt64?) throws(Errno) {
        let waiter = try Waiter()
        self.waiter = waiter
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        if device != nil { fileSystem.cache.watchMounts(try .ofThisProcess()) }
        fileSystem.cache.onEarlierDeadline { waiter.wake() }
        _ = try Thread.start(name: "aclfs-clock") { [self] in
            var inside = MountsInside()
            while !isStopped.load(ordering: .relaxed) {
                if let device { Self.look(at: table, device, fileSystem, &inside) }
                var news: Waiter.Reasons = []
                // First what is mounted, then what has fallen due: a bump would detach what was mounted just now.
                while !news.contains(.watched), !fileSystem.cache.isLookAtMountsDue, !isStopped.load(ordering: .relaxed) {
                    let now = SystemTime.monotonic()
                    if inside.areDoubtful(now) { fileSystem.cache.doubtNames() }
                    fileSystem.cache.tick(now, areUnchanged: fileSystem.areUnchanged)
                    fileSystem.invalidateLateEntries()
                    fileSystem.invalidateEndedGrants()
                    let marked = fileSystem.forgetting.take(now)
                    if !marked.isEmpty { Self.forget(marked, device, fileSystem) }
                    let due = [fileSystem.cache.nextDue, fileSystem.forgetting.nextDue, fileSystem.view?.nextExpiry]
                        .compactMap { $0 }.min()
                    news = waiter.wait(watching: device == nil ? -1 : table.rawValue, until: due)
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    /// Has the kernel forget directories, unless a name that was dropped could be missed.
    private static func forget(
        _ marked: [ForgettingQueue.Candidate], _ device: UInt64?, _ fileSystem: FileSystem
    ) {
        let isHarmless = !fileSystem.mountsBelow.exist
        let used = device.flatMap { try? WorkingDirectories.inodes(onDevice: $0) }
        for candidate in marked {
            let key = candidate.node.object.key
            let inode = fileSystem.tree.shownInode(device: key.device, inode: key.inode)
            if isHarmless, let used, !used.contains(inode) {
                fileSystem.notices.drop(candidate)
            } else {
                candidate.node.revalidation.attemptIsOver()
            }
        }
    }

    private static func look(
        at table: SharedDescriptor, _ device: UInt64, _ fileSystem: FileSystem, _ inside: inout MountsInside
    ) {
        fileSystem.cache.beginLookAtMounts()
        var mayBeBelow = true
        // A table that cannot be read may hide a mount: as if there were one.
        if let mounts = try? MountInfo.read(table.rawValue) {
            if inside.see(fileSystem.tree.mountsInside(mounts)) { fileSystem.tree.forgetDescriptors() }
            fileSystem.mountsBelow.update(mounts, device: device, tree: fileSystem.tree)
            mayBeBelow = fileSystem.mountsBelow.exist
        }
        if mayBeBelow { fileSystem.suspendForMountsBelow() }
        fileSystem.cache.endLookAtMounts()
        if !mayBeBelow { fileSystem.cache.resume(.mountsBelow) }
    }
}

/// What is mounted inside of the backing directory, of which no ctime tells.
private struct MountsInside {
    /// A look-up that found a name as it was before takes less, nanoseconds.
    private static let longestLookup: UInt64 = 10_000_000_000

    /// nil if it cannot be told, and before the first look.
    private var places: [MountPlace]?
    private var changed: UInt64?

    /// - Returns: whether they may be others than before.
    mutating func see(_ there: [MountPlace]?) -> Bool {
        let areOthers = there == nil || there != places
        if there != places { changed = SystemTime.monotonic() }
        places = there
        return areOthers
    }

    func areDoubtful(_ now: UInt64) -> Bool {
        places == nil || changed.map { now < $0 + Self.longestLookup } ?? false
    }
}
