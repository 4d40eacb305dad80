import FuseSession
import LinuxSystem
import Synchronization

/// The thread for notifications that take a lock of the kernel's on a directory. They wait for every unanswered
/// request there, so no thread that answers requests may send them (R15).
final class BlockingNotifications: Sendable {
    private let queue = WorkQueue<ForgettingQueue.Candidate>(capacity: 1024)
    private let content = WorkQueue<NodeID>(capacity: .max)
    private let queuedContent = Lock<Set<NodeID>>([])
    private let notifier = Lock<Notifier?>(nil)
    private let expiryThreads = Atomic(0)
    private let isStopped = Atomic<Bool>(false)

    /// - Parameters:
    ///   - notifier: to the kernel whose locks are taken.
    ///   - nodes: that this kernel knows.
    ///   - cache: of this kernel.
    func start(_ notifier: Notifier, _ nodes: NodeTable, _ cache: KernelCache) throws(Errno) {
        self.notifier.withLock { $0 = notifier }
        _ = try Thread.start(name: "aclfs-content") { [content, self] in
            while let node = content.next() {
                // Taken out first: what is written while the pages go is dropped once more.
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
            guard cache.mayDropEntries else { return false }
            candidate.node.revalidation.noteDrop()
            cache.forgets.noteLoss()
            notifier.invalidateEntry(candidate.name, in: candidate.parent)
            return true
        }
        // Whoever walked there in that moment keeps what was dropped, with what he has found below it, and the next look-up
        // finds it again. A bump makes the walkers drop it themselves, before they ask.
        if !isStopped.load(ordering: .relaxed) {
            SystemTime.sleep(milliseconds: 10)
            let remaining = invalidated.filter { nodes.find($0.node.id) === $0.node && $0.node.revalidation.isEarlyAttempt }
            if !remaining.isEmpty {
                for candidate in remaining { candidate.node.revalidation.noteDrop() }
                cache.bumpSoon()
                SystemTime.sleep(milliseconds: 40)
            }
        }
        for candidate in candidates { candidate.node.revalidation.attemptIsOver() }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        queue.close()
        content.close()
    }

    /// Has the kernel forget a name, if it has time; what is not done now is asked for again later.
    func invalidateEntry(_ candidate: ForgettingQueue.Candidate) {
        if !queue.add(candidate) { candidate.node.revalidation.attemptIsOver() }
    }

    /// Has the kernel read a file's bytes anew. On a thread of its own, which waits for reads that hold the file's
    /// pages; a file that waits already is not queued again.
    func invalidateContent(of node: NodeID) {
        if queuedContent.withLock({ $0.insert(node).inserted }) { content.add(node) }
    }

    /// How names are taken back.
    struct EntryInvalidation: Sendable {
        /// If not, the rest is left out.
        var isInFlight: @Sendable () -> Bool
        /// Whether the entry itself is to go, not only its time.
        var removesEntry: @Sendable (ExposedEntries.Name) -> Bool
        /// When all is done.
        var whenDone: @Sendable () -> Void
    }

    /// Has each of these names looked up again, on several threads, so that a directory whose lock somebody holds keeps only
    /// its own names waiting. What can have no thread, because earlier ones wait, is never done.
    /// Not from a thread that answers requests, which may have taken on its caller's credentials.
    func invalidateEntries(_ names: ExposedEntries, _ invalidation: EntryInvalidation) {
        guard !names.isEmpty, let notifier = notifier.withLock({ $0 }) else { return invalidation.whenDone() }
        // Even putting them in order takes its time.
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
        /// What was begun earlier may wait for ever.
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

    /// The barrier that is under way; it may wait for ever.
    private let barrier = Lock<Monitor<Bool>?>(nil)

    /// Returns when the kernel has used every listing of these directories that was answered before (R4).
    /// - Throws: `timedout`: whoever reads a listing into memory that never answers holds the directory's lock.
    func awaitListings(of directories: [NodeID], milliseconds: UInt64 = 5000) throws(Errno) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        let end = SystemTime.monotonic() + milliseconds * 1_000_000
        // One at a time: each that waits in vain holds a thread.
        if let earlier = barrier.withLock({ $0 }), earlier.wait(until: end, for: { $0 ? true : nil }) == nil {
            throw .timedout
        }
        let isDone = Monitor(false)
        barrier.withLock { $0 = isDone }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-barrier") {
                // A name that cannot exist: only the directory's lock is wanted.
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
