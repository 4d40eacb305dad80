import Glibc

/// Threads wait here until it is opened.
public final class Gate: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    public init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(opened, nil)
    }

    deinit {
        pthread_cond_destroy(opened)
        pthread_mutex_destroy(lock)
        opened.deallocate()
        lock.deallocate()
    }

    public func wait() {
        pthread_mutex_lock(lock)
        while !isOpen { pthread_cond_wait(opened, lock) }
        pthread_mutex_unlock(lock)
    }

    public func shut() {
        pthread_mutex_lock(lock)
        isOpen = false
        pthread_mutex_unlock(lock)
    }

    public func open() {
        pthread_mutex_lock(lock)
        isOpen = true
        pthread_cond_broadcast(opened)
        pthread_mutex_unlock(lock)
    }
}
