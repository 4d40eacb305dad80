import CLinux
import Glibc

/// A lock for many readers or one writer. A waiting writer goes before new readers, so a thread must not take
/// the lock again while it holds it.
// Unchecked: the pointer never changes after init, and what it points to is made to be shared by threads.
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

    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EAGAIN (too many readers) and EDEADLK must not pass for a lock that is held.
        let code = pthread_rwlock_rdlock(lock)
        precondition(code == 0, "a read lock was refused")
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let code = pthread_rwlock_wrlock(lock)
        precondition(code == 0, "a write lock was refused")
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Within `withReadLock`: lets the lock go for the time of `body`.
    public func lettingReadLockGo<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_rwlock_unlock(lock)
        defer { relock(pthread_rwlock_rdlock) }
        return try body()
    }

    /// Within `withWriteLock`: lets the lock go for the time of `body`.
    public func lettingWriteLockGo<Result: ~Copyable, Failure: Error>(
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
