import CLinux
import Synchronization

/// A lock for many readers or one writer, in turns (docs/internals/architecture.md "Locks"): a reader waits for one writer at most, and a writer for
/// those that wait already. A waiting writer precedes new readers, so a thread must not acquire the lock twice.
// Unchecked: the pointer never changes after init, and threads may share its target.
public final class ReadWriteLock: @unchecked Sendable {
    private let lock: OpaquePointer
    private let turns = Atomic<UInt64>(0)

    public init() {
        guard let lock = aclfs_rwlock_new() else { fatalError("no memory for a lock") }
        self.lock = lock
    }

    deinit { aclfs_rwlock_free(lock) }

    /// With the lock held: a number that is the same as long as nobody has held it for counted writing, apart from the caller now.
    public var writesBefore: UInt64 { turns.load(ordering: .acquiring) & ~1 }
    /// With the lock held: what `writesBefore` is as soon as the caller has released it.
    public var writesAfter: UInt64 { (turns.load(ordering: .acquiring) + 1) & ~1 }

    private func beginWriting(isCounted: Bool) {
        aclfs_rwlock_write(lock)
        if isCounted { turns.add(1, ordering: .releasing) }
    }

    /// - Returns: whether this turn was counted.
    @discardableResult
    private func endWriting() -> Bool {
        // Odd within a turn that is counted, and no other turn is in it.
        let isCounted = turns.load(ordering: .relaxed) & 1 == 1
        if isCounted { turns.add(1, ordering: .releasing) }
        aclfs_rwlock_write_end(lock)
        return isCounted
    }

    /// Calls `body` with the lock held for reading.
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        aclfs_rwlock_read(lock)
        defer { aclfs_rwlock_read_end(lock) }
        return try body()
    }

    /// Calls `body` with the lock held for writing.
    /// - Parameter isCounted: `writesBefore` is another number afterwards.
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        isCounted: Bool = true, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        beginWriting(isCounted: isCounted)
        defer { endWriting() }
        return try body()
    }

    /// Within `withReadLock`: releases the lock while `body` runs.
    public func releasingReadLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        aclfs_rwlock_read_end(lock)
        defer { aclfs_rwlock_read(lock) }
        return try body()
    }

    /// Within `withWriteLock`: releases the lock while `body` runs.
    public func releasingWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let isCounted = endWriting()
        defer { beginWriting(isCounted: isCounted) }
        return try body()
    }
}
