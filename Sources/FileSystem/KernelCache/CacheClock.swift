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
    ///   - report: writes a line for the administrator.
    /// - Throws: if the mount table cannot be opened or no thread can be started.
    init(_ kernel: KernelView, device: UInt64?, report: @escaping @Sendable (String) -> Void) throws(Errno) {
        let waiter = try Waiter()
        self.waiter = waiter
        let watch = try device.map { (device) throws(Errno) in
            try MountTableWatch(device, kernel, report, wake: { waiter.wake() })
        }
        kernel.cache.onEarlierDeadline { waiter.wake() }
        _ = try Thread.start(name: "aclfs-clock") { [self] in
            var mounts = MountsSeen()
            while !isStopped.load(ordering: .relaxed) {
                watch?.read(&mounts)
                var news: Waiter.Reasons = []
                // The mount tables come before the deadlines: a bump would detach a mount that was made a moment ago.
                while !news.contains(.watched), !kernel.cache.isMountTableReadDue, !isStopped.load(ordering: .relaxed) {
                    let now = SystemTime.monotonic()
                    if watch?.mustRead(mounts, now) == true { break }
                    if mounts.inside.mayStillChangeNames(now) { kernel.cache.markEntriesUncertain() }
                    watch?.resume(&mounts, now)
                    let walked = kernel.forgetting.takeUntried()
                    if !walked.isEmpty { Self.bumpForMarked(walked, device, kernel) }
                    kernel.cache.tick(now, isKnown: { kernel.loader.nodes.find($0) != nil }, kernel.check)
                    kernel.invalidateDeferredEntries()
                    kernel.invalidateEndedGrants()
                    let marked = kernel.forgetting.takeDue(now)
                    if !marked.isEmpty { Self.invalidateMarked(marked, device, kernel) }
                    kernel.invalidateUnknownNodes(now)
                    kernel.dropRemovedObjects(now)
                    kernel.settleDueLookups(now)
                    let deadlines = [
                        kernel.cache.nextDeadline, kernel.forgetting.nextDue, kernel.loader.view?.nextExpiry, kernel.nextRemovalCheck,
                        kernel.cache.unknown.nextDue, kernel.inheritedLookups.due, watch?.nextDue(mounts, now),
                    ]
                    let due = deadlines.compactMap { $0 }.min()
                    news = waiter.wait(watching: watch?.table.rawValue ?? -1, readable: watch?.elsewhere.descriptor ?? -1, until: due)
                }
            }
            watch?.end()
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        waiter.wake()
    }

    /// Invalidates the entries of marked directories, so that the kernel forgets their nodes.
    private static func invalidateMarked(_ marked: [ForgettingQueue.Candidate], _ device: UInt64?, _ kernel: KernelView) {
        let isForgettable = forgettable(device, kernel)
        for candidate in marked {
            if isForgettable(candidate.node) {
                kernel.notifications.invalidateEntry(candidate)
            } else {
                candidate.node.exposure.revalidation.endAttempt()
            }
        }
    }

    /// Bumps, so that walks through marked directories make the kernel forget their nodes.
    private static func bumpForMarked(_ marked: [ForgettingQueue.Candidate], _ device: UInt64?, _ kernel: KernelView) {
        let isForgettable = forgettable(device, kernel)
        let forgettable = marked.filter { isForgettable($0.node) }
        for candidate in forgettable { candidate.node.exposure.revalidation.noteBump() }
        if !forgettable.isEmpty { kernel.cache.requestBump() }
    }

    /// Whether the kernel may be made to forget a directory: not if it is the working directory of a process, and none while something is mounted
    /// below; or if it has done so already.
    private static func forgettable(_ device: UInt64?, _ kernel: KernelView) -> (Node) -> Bool {
        let isHarmless = !kernel.mountsBelow.exist
        let used = device.flatMap { try? WorkingDirectories.inodes(onDevice: $0) }
        return { node in
            let key = node.object.key
            guard isHarmless, let used, kernel.loader.nodes.find(node.id) === node else { return false }
            return !used.contains(kernel.loader.tree.shownInode(device: key.device, inode: key.inode))
        }
    }
}
