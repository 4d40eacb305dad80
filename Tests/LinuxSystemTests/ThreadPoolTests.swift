import Testing

@testable import LinuxSystem

@Suite struct ThreadPoolTests {
    private final class Holder: Sendable {
        private let isFree = Monitor(false)
        let begun = Monitor(0)

        func hold() {
            begun.withLock { $0 += 1 }
            _ = isFree.wait(until: .max) { $0 ? true : nil }
        }
        func letGo() { isFree.withLock { $0 = true } }
        func awaitBegin(of count: Int) { _ = begun.wait(until: .max) { $0 >= count ? true : nil } }
    }

    @Test func workBeyondTheLimitIsRefusedOrWaits() {
        let pool = ThreadPool(name: "test-pool", most: 2)
        let holder = Holder()
        #expect(pool.run { holder.hold() })
        #expect(pool.run { holder.hold() })
        holder.awaitBegin(of: 2)
        #expect(pool.count == 2)
        #expect(!pool.run { holder.hold() })
        #expect(pool.run(mayWait: true) { holder.hold() })
        #expect(holder.begun.withLock { $0 } == 2)
        holder.letGo()
        holder.awaitBegin(of: 3)
        #expect(pool.count <= 2)
    }

    @Test func aThreadWithoutWorkEnds() {
        let pool = ThreadPool(name: "test-pool", most: 2, idleTime: 20_000_000)
        let isDone = Monitor(false)
        #expect(pool.run { isDone.withLock { $0 = true } })
        _ = isDone.wait(until: .max) { $0 ? true : nil }
        while pool.count > 0 { SystemTime.sleep(milliseconds: 5) }
        #expect(pool.run { isDone.withLock { $0 = false } })
    }
}
