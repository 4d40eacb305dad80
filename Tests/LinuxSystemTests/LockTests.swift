import Glibc
import LinuxSystem
import TestSupport
import Testing

struct LockTests {
    @Test func oneThreadAtATime() throws {
        final class Shared: Sendable {
            let count = Lock(0)
            let ended = Lock(0)
        }
        let shared = Shared()
        for index in 0..<8 {
            _ = try Thread.start(name: "counter-\(index)") {
                for _ in 0..<20_000 { shared.count.withLock { $0 += 1 } }
                shared.ended.withLock { $0 += 1 }
            }
        }
        #expect(eventually { shared.ended.withLock { $0 } == 8 })
        #expect(shared.count.withLock { $0 } == 160_000)
    }

    @Test func aRefusedBodyGivesTheLockBack() {
        struct Refusal: Error {}
        let lock = Lock([1])
        #expect(throws: Refusal.self) {
            try lock.withLock { value throws(Refusal) in
                value.append(2)
                throw Refusal()
            }
        }
        #expect(lock.withLock { $0 } == [1, 2])
    }

    @Test func itsValueGoesWithIt() {
        final class Witness {}
        weak var witness: Witness?
        do {
            let lock = Lock(Witness())
            witness = lock.withLock { $0 }
            #expect(witness != nil)
        }
        #expect(witness == nil)
    }
}

/// docs/internals/architecture.md "Locks": readers and writers take turns.
struct ReadWriteLockTests {
    private final class Shared: Sendable {
        let lock = ReadWriteLock()
        let readers = Lock(0)
        let writers = Lock(0)
        let ended = Lock(0)
        let isOver = Lock(false)
    }

    @Test func aWriterIsAlone() throws {
        let shared = Shared()
        for index in 0..<8 {
            _ = try Thread.start(name: "lock-\(index)") {
                for _ in 0..<2_000 {
                    if index % 2 == 0 {
                        shared.lock.withWriteLock {
                            shared.writers.withLock { $0 += 1 }
                            if shared.readers.withLock({ $0 }) != 0 { shared.ended.withLock { $0 = -100 } }
                        }
                    } else {
                        shared.lock.withReadLock {
                            shared.readers.withLock { $0 += 1 }
                            shared.readers.withLock { $0 -= 1 }
                        }
                    }
                }
                shared.ended.withLock { $0 += 1 }
            }
        }
        #expect(eventually { shared.ended.withLock { $0 } == 8 })
        #expect(shared.writers.withLock { $0 } == 8_000)
    }

    /// Writers that never leave a gap kept a reader of pthread_rwlock_t waiting without end.
    @Test func aReaderWaitsForOneWriterOfMany() throws {
        let shared = Shared()
        for index in 0..<3 {
            _ = try Thread.start(name: "writer-\(index)") {
                while !shared.isOver.withLock({ $0 }) {
                    shared.lock.withWriteLock {
                        shared.writers.withLock { $0 += 1 }
                        // The other writers come to wait meanwhile.
                        usleep(300)
                    }
                }
                shared.ended.withLock { $0 += 1 }
            }
        }
        #expect(eventually { shared.writers.withLock { $0 } > 3 })
        var most = 0
        for _ in 0..<50 {
            let before = shared.writers.withLock { $0 }
            let passed = shared.lock.withReadLock { shared.writers.withLock { $0 } - before }
            most = max(most, passed)
        }
        shared.isOver.withLock { $0 = true }
        #expect(eventually { shared.ended.withLock { $0 } == 3 })
        // One had the lock, and one may have got it before the reader came to the queue.
        #expect(most <= 3, "\(most)")
    }

    @Test func aWriterWaitsForThoseThatReadAlready() throws {
        let shared = Shared()
        for index in 0..<3 {
            _ = try Thread.start(name: "reader-\(index)") {
                while !shared.isOver.withLock({ $0 }) {
                    shared.lock.withReadLock {
                        shared.readers.withLock { $0 += 1 }
                        usleep(300)
                    }
                }
                shared.ended.withLock { $0 += 1 }
            }
        }
        #expect(eventually { shared.readers.withLock { $0 } > 3 })
        for _ in 0..<20 { shared.lock.withWriteLock {} }
        shared.isOver.withLock { $0 = true }
        #expect(eventually { shared.ended.withLock { $0 } == 3 })
    }

    /// What `writesBefore` is with the lock held.
    private func number(_ lock: ReadWriteLock) -> UInt64 { lock.withReadLock { lock.writesBefore } }

    @Test func onlyCountedTurnsChangeTheNumber() {
        let lock = ReadWriteLock()
        let first = number(lock)
        lock.withWriteLock(isCounted: false) { #expect(lock.writesBefore == first && lock.writesAfter == first) }
        #expect(number(lock) == first)
        lock.withWriteLock { #expect(lock.writesBefore == first && lock.writesAfter != first) }
        let second = number(lock)
        #expect(second != first)
        // A turn goes on as it began, whatever came in between.
        for (isCounted, isOtherCounted) in [(false, false), (false, true), (true, false), (true, true)] {
            let before = number(lock)
            var between: UInt64 = 0
            lock.withWriteLock(isCounted: isCounted) {
                lock.releasingWriteLock {
                    lock.withWriteLock(isCounted: isOtherCounted) {}
                    between = number(lock)
                }
                #expect(lock.writesBefore == between)
            }
            #expect((between != before) == (isCounted || isOtherCounted))
            #expect((number(lock) != between) == isCounted)
        }
    }
}
