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
    /// The mutex and behind it the value: one piece of memory, because each open file has locks.
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

    @inline(__always)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&guarded.pointee)
    }

    /// As `withLock`, but waits no longer than for a time.
    /// - Parameter nanoseconds: on the clock of `SystemTime.monotonic()`.
    /// - Returns: nil if others still had the lock then.
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
