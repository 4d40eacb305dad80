import CLinux
import Glibc

/// A bounded queue between many threads and one or more that wait for work.
// Unchecked: the pointers never change after init, and `items` is used only with the mutex held.
public final class WorkQueue<Item: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let filled: UnsafeMutablePointer<pthread_cond_t>
    private let capacity: Int
    private var items: [Item] = []
    private var isClosed = false

    public init(capacity: Int) {
        self.capacity = capacity
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        filled = .allocate(capacity: 1)
        filled.initialize(to: pthread_cond_t())
        let answers = (pthread_mutex_init(mutex, nil), pthread_cond_init(filled, nil))
        precondition(answers == (0, 0), "a queue could not be made")
    }

    deinit {
        pthread_cond_destroy(filled)
        pthread_mutex_destroy(mutex)
        filled.deallocate()
        mutex.deallocate()
    }

    /// Adds an item.
    /// - Parameters:
    ///   - item: the item.
    ///   - evenIfFull: for work that a caller waits for.
    /// - Returns: whether it was added; a full or closed queue rejects items.
    @discardableResult
    public func add(_ item: Item, evenIfFull: Bool = false) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !isClosed, evenIfFull || items.count < capacity else { return false }
        items.append(item)
        pthread_cond_signal(filled)
        return true
    }

    /// Waits for the next item; nil when the queue is closed and empty.
    public func next() -> Item? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while items.isEmpty {
            if isClosed { return nil }
            pthread_cond_wait(filled, mutex)
        }
        return items.removeFirst()
    }

    /// As `next`, without waiting.
    public func nextIfAny() -> Item? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return items.isEmpty ? nil : items.removeFirst()
    }

    /// Closes the queue. Threads still get the items in it.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_cond_broadcast(filled)
        pthread_mutex_unlock(mutex)
    }
}
