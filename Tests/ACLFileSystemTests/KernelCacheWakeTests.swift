import MountOptions
import Synchronization
import Testing

@testable import ACLFileSystem

struct KernelCacheWakeTests {
    /// Each revocation may wake the clock. What is called must stay the same closure: one that a generic container hands out
    /// and takes back is wrapped anew each time, which after a day of revocations is deeper than the stack.
    @Test func wakingTheClockCostsTheSameEachTime() {
        let cache = KernelCache(.auto)
        let count = Atomic(0)
        cache.onEarlierDeadline { count.add(1, ordering: .relaxed) }
        for _ in 0..<300_000 { cache.wakeClock() }
        #expect(count.load(ordering: .relaxed) == 300_000)
    }
}
