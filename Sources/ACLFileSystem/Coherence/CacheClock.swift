import BackingStore
import LinuxSystem
import Synchronization

/// The thread that invalidates entries at their deadlines, and watches for mounts below.
final class CacheClock: Sendable {
    private let waiter: Waiter
    private let isStopped = Atomic<Bool>(false)

    /// - Parameters:
    ///   - kernel: whose entries the thread invalidates.
    ///   - device: of this mount; nil if unknown, and then mounts below are not noticed.
    /// - Throws: if the mount table cannot be opened or no thread can be started.
    init(_ kernel: KernelView, device: UInt64?) throws(Errno) {
        let waiter = try Waiter()
        self.waiter = waiter
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        if device != nil { kernel.cache.watchMountTable(try .ofThisProcess()) }
        kernel.cache.onEarlierDeadline { waiter.wake() }
        _ = try Thread.start(name: "aclfs-clock") { [self] in
            var inside = MountsInside()
            while !isStopped.load(ordering: .relaxed) {
                if let device { Self.readMountTable(table, device, kernel, &inside) }
                var news: Waiter.Reasons = []
                // The mount table comes before the deadlines: a bump would detach a mount that was made a moment ago.
                while !news.contains(.watched), !kernel.cache.isMountTableReadDue, !isStopped.load(ordering: .relaxed) {
                    let now = SystemTime.monotonic()
                    if inside.mayStillChangeNames(now) { kernel.cache.markEntriesUncertain() }
                    kernel.cache.tick(now, isKnown: { kernel.loader.nodes.find($0) != nil }, kernel.check)
                    kernel.invalidateDeferredEntries()
                    kernel.invalidateEndedGrants()
                    let marked = kernel.forgetting.takeDue(now)
                    if !marked.isEmpty { Self.invalidateMarked(marked, device, kernel) }
                    kernel.invalidateUnknownNodes(now)
                    kernel.dropRemovedObjects(now)
                    let deadlines = [
                        kernel.cache.nextDeadline, kernel.forgetting.nextDue, kernel.loader.view?.nextExpiry, kernel.nextRemovalCheck,
                        kernel.cache.unknown.nextDue,
                    ]
                    let due = deadlines.compactMap { $0 }.min()
                    news = waiter.wait(watching: device == nil ? -1 : table.rawValue, until: due)
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    /// Invalidates the entries of marked directories, so that the kernel forgets their nodes. Leaves out a directory that is the working
    /// directory of a process, and all of them while something is mounted below.
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
                candidate.node.revalidation.endAttempt()
            }
        }
    }

    private static func readMountTable(
        _ table: SharedDescriptor, _ device: UInt64, _ kernel: KernelView, _ inside: inout MountsInside
    ) {
        kernel.cache.beginMountTableRead()
        var mayBeBelow = true
        // A table that cannot be read may hide a mount, so it counts as one.
        if let mounts = try? MountInfo.read(table.rawValue) {
            if inside.update(kernel.loader.tree.mountsInside(mounts)) {
                kernel.loader.tree.forgetDescriptors()
                kernel.cache.requestBump()
            }
            kernel.mountsBelow.update(mounts, device: device, tree: kernel.loader.tree)
            mayBeBelow = kernel.mountsBelow.exist
        }
        if mayBeBelow { kernel.suspendForMountsBelow() }
        kernel.cache.endMountTableRead()
        if !mayBeBelow { kernel.cache.resume(.mountsBelow) }
    }
}

/// The mounts inside the backing directory. A mount changes what names lead to, but no ctime.
private struct MountsInside {
    /// Nanoseconds. A look-up that began before a mount takes less.
    private static let longestLookup: UInt64 = 10_000_000_000

    /// nil if unknown, and before the table is first read.
    private var known: [MountPlace]?
    private var changed: UInt64?

    /// - Parameter found: the mounts in the table; nil if unknown.
    /// - Returns: true if they may differ from those of the last update.
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
