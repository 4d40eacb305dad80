import CLinux
import Glibc

/// A lock for many readers or one writer. A waiting writer precedes new readers, so a thread must not acquire the lock twice.
// Unchecked: the pointer never changes after init, and threads may share its target.
public final class ReadWriteLock: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    public init() {
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_rwlock_t())
        let answer = aclfs_rwlock_init(lock)
        precondition(answer == 0, "a lock could not be made")
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    /// Calls `body` with the lock held for reading.
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EAGAIN (too many readers) and EDEADLK do not acquire the lock.
        let code = pthread_rwlock_rdlock(lock)
        precondition(code == 0, "a read lock was refused")
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Calls `body` with the lock held for writing.
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let code = pthread_rwlock_wrlock(lock)
        precondition(code == 0, "a write lock was refused")
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Within `withReadLock`: releases the lock while `body` runs.
    public func releasingReadLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_rwlock_unlock(lock)
        defer { relock(pthread_rwlock_rdlock) }
        return try body()
    }

    /// Within `withWriteLock`: releases the lock while `body` runs.
    public func releasingWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_rwlock_unlock(lock)
        defer { relock(pthread_rwlock_wrlock) }
        return try body()
    }

    private func relock(_ take: (UnsafeMutablePointer<pthread_rwlock_t>) -> Int32) {
        let code = take(lock)
        precondition(code == 0, "a lock was refused")
    }
}
