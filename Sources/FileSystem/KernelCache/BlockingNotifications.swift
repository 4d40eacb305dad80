import FuseSession
import LinuxSystem
import Synchronization

/// The threads for notifications that take a lock of the kernel on an object. These wait for every unanswered request there, so no
/// thread that answers requests may send them (R15).
final class BlockingNotifications: Sendable {
    private let queue = WorkQueue<ForgettingQueue.Candidate>(capacity: 1024)
    private let content = WorkQueue<NodeID>(capacity: .max)
    private let queuedContent = Lock<Set<NodeID>>([])
    private let notifier = Lock<Notifier?>(nil)
    private let expiryThreads = Atomic(0)
    private let isStopped = Atomic<Bool>(false)

    /// Starts the threads. Call once.
    /// - Parameters:
    ///   - notifier: to the kernel.
    ///   - nodes: that this kernel knows.
    ///   - cache: what this kernel may hold.
    /// - Throws: if no thread can be started.
    func start(_ notifier: Notifier, _ nodes: NodeTable, _ cache: KernelCache) throws(Errno) {
        self.notifier.withLock { $0 = notifier }
        _ = try Thread.start(name: "aclfs-content") { [content, self] in
            while let node = content.next() {
                // Removed first: a write during the notification queues the file again.
                queuedContent.withLock { _ = $0.remove(node) }
                notifier.invalidateContent(of: node)
            }
        }
        _ = try Thread.start(name: "aclfs-notices") { [queue, self] in
            while let candidate = queue.next() {
                var candidates = [candidate]
                while let another = queue.nextIfAny() { candidates.append(another) }
                invalidateEntries(of: candidates, notifier, nodes, cache)
            }
        }
    }

    private func invalidateEntries(
        of candidates: [ForgettingQueue.Candidate], _ notifier: Notifier, _ nodes: NodeTable, _ cache: KernelCache
    ) {
        let invalidated = candidates.filter { candidate in
            guard cache.confirmMayInvalidate() else { return false }
            candidate.node.exposure.revalidation.noteInvalidation()
            cache.forgets.noteInvalidation()
            notifier.invalidateEntry(candidate.name, in: candidate.parent)
            return true
        }
        // A walk in flight holds on to an invalidated entry and to what it finds below, and the next look-up finds it again. After a bump
        // the walks discard the entry themselves.
        if !isStopped.load(ordering: .relaxed) {
            SystemTime.sleep(milliseconds: 10)
            let remaining = invalidated.filter { nodes.find($0.node.id) === $0.node && $0.node.exposure.revalidation.isEarlyAttempt }
            if !remaining.isEmpty {
                for candidate in remaining { candidate.node.exposure.revalidation.noteInvalidation() }
                cache.requestRecoveryBump()
                SystemTime.sleep(milliseconds: 40)
            }
        }
        for candidate in candidates { candidate.node.exposure.revalidation.endAttempt() }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        queue.close()
        content.close()
    }

    /// Invalidates the entry of a marked directory. If the queue is full, a later attempt follows.
    func invalidateEntry(_ candidate: ForgettingQueue.Candidate) {
        if !queue.add(candidate) { candidate.node.exposure.revalidation.endAttempt() }
    }

    /// Invalidates the pages of a file, on a thread of its own: the notification waits for reads that hold the pages. Does nothing if the
    /// file is queued already.
    func invalidateContent(of node: NodeID) {
        if queuedContent.withLock({ $0.insert(node).inserted }) { content.add(node) }
    }

    /// How a batch of entries is invalidated.
    struct EntryInvalidation: Sendable {
        /// If false, the rest of the batch is skipped.
        var isInFlight: @Sendable () -> Bool
        /// Whether the entry is removed, and not only its timeout set to 0.
        var removesEntry: @Sendable (ExposedEntries.Name) -> Bool
        /// Called when the batch is complete.
        var whenDone: @Sendable () -> Void
    }

    /// Invalidates entries one by one, on several threads, so that a directory whose lock is held delays its own entries alone. If all
    /// threads wait already, nothing is done. Never call it on a thread that answers requests: it may have its caller's credentials.
    func invalidateEntries(_ names: ExposedEntries, _ invalidation: EntryInvalidation) {
        guard !names.isEmpty, let notifier = notifier.withLock({ $0 }) else { return invalidation.whenDone() }
        // Sorting by directory takes time as well, so it is done on the new thread.
        start { [self] in
            let expiry = Expiry(names, invalidation)
            for _ in 1..<max(1, min(Expiry.threads, expiry.count)) where !start({ expiry.run(notifier) }) { break }
            expiry.run(notifier)
        }
    }

    @discardableResult private func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard expiryThreads.add(1, ordering: .relaxed).newValue <= Expiry.maximumThreads else {
            expiryThreads.subtract(1, ordering: .relaxed)
            return false
        }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-expiry") { [self] in
                body()
                expiryThreads.subtract(1, ordering: .relaxed)
            }
            return true
        } catch {
            expiryThreads.subtract(1, ordering: .relaxed)
            return false
        }
    }

    private final class Expiry: Sendable {
        static let threads = 8
        /// Of all batches: earlier ones may wait without end.
        static let maximumThreads = 32

        let count: Int
        private let directories: Lock<[[ExposedEntries.Name]]>
        private let left: Atomic<Int>
        private let invalidation: EntryInvalidation

        init(_ names: ExposedEntries, _ invalidation: EntryInvalidation) {
            var byDirectory: [NodeID: [ExposedEntries.Name]] = [:]
            names.forEach { byDirectory[$0.parent, default: []].append($0) }
            count = byDirectory.count
            left = Atomic(count)
            directories = Lock(Array(byDirectory.values))
            self.invalidation = invalidation
        }

        func run(_ notifier: Notifier) {
            while invalidation.isInFlight(), let names = directories.withLock({ $0.popLast() }) {
                for name in names {
                    if invalidation.removesEntry(name) {
                        notifier.invalidateEntry(name.bytes, in: name.parent)
                    } else {
                        notifier.expireEntry(name.bytes, in: name.parent)
                    }
                }
                if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { invalidation.whenDone() }
            }
        }
    }

    /// The barrier in flight; it may wait without end.
    private let barrier = Lock<Monitor<Bool>?>(nil)

    /// Waits until the kernel has used every listing of these directories that was answered before (R4).
    /// - Throws: `timedout`. A caller that reads a listing into memory that never answers holds the directory's lock.
    func awaitListings(of directories: [NodeID], milliseconds: UInt64 = 5000) throws(Errno) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        let end = SystemTime.monotonic() + milliseconds * 1_000_000
        // One at a time: a barrier that waits without end holds a thread.
        if let earlier = barrier.withLock({ $0 }), earlier.wait(until: end, for: { $0 ? true : nil }) == nil {
            throw .timedout
        }
        let isDone = Monitor(false)
        barrier.withLock { $0 = isDone }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-barrier") {
                // A name that cannot exist: the notification only has to take the directory's lock.
                for directory in directories { notifier.expireEntry("/", in: directory) }
                isDone.withLock { $0 = true }
            }
        } catch {
            isDone.withLock { $0 = true }
            throw error
        }
        if isDone.wait(until: end, for: { $0 ? true : nil }) == nil { throw .timedout }
    }
}
