import CLinux
import Glibc

/// A value that one thread at a time may use.
///
/// Not `Synchronization.Mutex`, for two reasons (Swift 6.3 on Linux):
/// - It is a futex that the kernel hands to the longest waiter, and so to a thread that sleeps. With more threads than processors a
///   lock that was found taken once is found taken by all who follow: sixteen threads opened files at a fifth of the rate of two.
/// - It knows its owner by a thread number that is asked for once. In a process that was forked the first thread goes on under its
///   parent's number, and where it meets another thread both wait, or spin, for ever: a daemon of ours is forked.
public struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    public init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let answer = aclfs_mutex_init(mutex)
        precondition(answer == 0, "a lock could not be made")
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    @inline(__always)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
