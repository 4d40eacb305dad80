import CLinux
import Glibc

/// A value that one thread at a time may use.
///
/// It is not `Synchronization.Mutex`, for two reasons (Swift 6.3 on Linux):
/// - It uses a futex that the kernel hands to the longest waiter, which sleeps. With more threads than processors a lock that was contended
///   once stays contended: sixteen threads opened files at a fifth of the rate of two.
/// - It identifies its owner by a thread number that is read once. In a forked process the first thread continues with its parent's
///   number. If it meets another thread, both wait or spin forever. The daemon is a forked process.
public struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    /// The mutex, and the value after it: one allocation, because each open file has locks.
    private let memory: UnsafeMutableRawPointer

    public init(_ value: consuming sending Value) {
        precondition(MemoryLayout<Value>.alignment <= MemoryLayout<max_align_t>.alignment, "malloc(3) aligns for C's types")
        guard let memory = malloc(Self.offset + MemoryLayout<Value>.size) else { fatalError("no memory for a lock") }
        self.memory = memory
        aclfs_mutex_init(mutex)
        (memory + Self.offset).initializeMemory(as: Value.self, to: value)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        guarded.deinitialize(count: 1)
        free(memory)
    }

    /// Calls `body` with the lock held.
    @inline(__always)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&guarded.pointee)
    }

    /// As `withLock`, with a timeout.
    /// - Parameters:
    ///   - nanoseconds: the timeout, on the clock of `SystemTime.monotonic()`.
    ///   - body: uses the value.
    /// - Returns: nil if other threads still had the lock then.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        within nanoseconds: UInt64, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 || aclfs_mutex_lock_within(mutex, nanoseconds) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&guarded.pointee)
    }

    private static var offset: Int {
        let alignment = MemoryLayout<Value>.alignment
        return (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
    }

    private var mutex: UnsafeMutablePointer<pthread_mutex_t> { memory.assumingMemoryBound(to: pthread_mutex_t.self) }
    private var guarded: UnsafeMutablePointer<Value> { (memory + Self.offset).assumingMemoryBound(to: Value.self) }
}
