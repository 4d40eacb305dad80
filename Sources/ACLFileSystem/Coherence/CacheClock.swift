import BackingStore
import LinuxSystem
import Synchronization

/// The thread that takes names back when their time has come, and watches what is mounted below.
final class CacheClock: Sendable {
    private let waiter: Waiter
    private let isStopped = Atomic<Bool>(false)

    /// - Parameter device: of our mount; nil if it is not known, then no mount below is seen.
    init(_ kernel: KernelView, device: UInt64?) throws(Errno) {
        let waiter = try Waiter()
        self.waiter = waiter
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        if device != nil { kernel.cache.watchMounts(try .ofThisProcess()) }
        kernel.cache.onEarlierDeadline { waiter.wake() }
        _ = try Thread.start(name: "aclfs-clock") { [self] in
            var inside = MountsInside()
            while !isStopped.load(ordering: .relaxed) {
                if let device { Self.readMountTable(table, device, kernel, &inside) }
                var news: Waiter.News = []
                // First what is mounted, then what has fallen due: a bump would detach what was mounted just now.
                while !news.contains(.watched), !kernel.cache.isLookAtMountsDue, !isStopped.load(ordering: .relaxed) {
                    let now = SystemTime.monotonic()
                    if inside.mayStillChangeNames(now) { kernel.cache.doubtNames() }
                    kernel.cache.tick(now, areUnchanged: kernel.areUnchanged)
                    kernel.invalidateDeferredEntries()
                    kernel.invalidateEndedGrants()
                    let marked = kernel.forgetting.takeDue(now)
                    if !marked.isEmpty { Self.invalidateMarked(marked, device, kernel) }
                    let due = [kernel.cache.nextDue, kernel.forgetting.nextDue, kernel.loader.view?.nextExpiry]
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
    private static func invalidateMarked(
        _ marked: [ForgettingQueue.Candidate], _ device: UInt64?, _ kernel: KernelView
    ) {
        let isHarmless = !kernel.mountsBelow.exist
        let used = device.flatMap { try? WorkingDirectories.inodes(onDevice: $0) }
        for candidate in marked {
            let key = candidate.node.object.key
            let inode = kernel.loader.tree.shownInode(device: key.device, inode: key.inode)
            if isHarmless, let used, !used.contains(inode) {
                kernel.notifications.invalidateEntry(candidate)
            } else {
                candidate.node.revalidation.attemptIsOver()
            }
        }
    }

    private static func readMountTable(
        _ table: SharedDescriptor, _ device: UInt64, _ kernel: KernelView, _ inside: inout MountsInside
    ) {
        kernel.cache.beginLookAtMounts()
        var mayBeBelow = true
        // A table that cannot be read may hide a mount: as if there were one.
        if let mounts = try? MountInfo.read(table.rawValue) {
            if inside.update(kernel.loader.tree.mountsInside(mounts)) { kernel.loader.tree.forgetDescriptors() }
            kernel.mountsBelow.update(mounts, device: device, tree: kernel.loader.tree)
            mayBeBelow = kernel.mountsBelow.exist
        }
        if mayBeBelow { kernel.suspendForMountsBelow() }
        kernel.cache.endLookAtMounts()
        if !mayBeBelow { kernel.cache.resume(.mountsBelow) }
    }
}

/// What is mounted inside of the backing directory, of which no ctime tells.
private struct MountsInside {
    /// A look-up that found a name as it was before takes less, nanoseconds.
    private static let longestLookup: UInt64 = 10_000_000_000

    /// nil if it cannot be told, and before the first look.
    private var known: [MountPlace]?
    private var changed: UInt64?

    /// - Returns: whether they may be others than before.
    mutating func update(_ found: [MountPlace]?) -> Bool {
        let mayDiffer = found == nil || found != known
        if found != known { changed = SystemTime.monotonic() }
        known = found
        return mayDiffer
    }

    /// Whether a look-up in flight may still return an object that a mount has covered or uncovered.
    /// - Parameter now: monotonic nanoseconds.
    func mayStillChangeNames(_ now: UInt64) -> Bool {
        known == nil || changed.map { now < $0 + Self.longestLookup } ?? false
    }
}
