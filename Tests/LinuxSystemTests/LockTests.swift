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
