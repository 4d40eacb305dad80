import Glibc
import Testing

@testable import LinuxSystem

@Suite("waiting for a state")
struct MonitorTests {
    @Test("a wait ends with the change that it waits for")
    func change() throws {
        let monitor = Monitor(0)
        let thread = try Thread.start(name: "changing") {
            for _ in 0..<100 { monitor.withLock { $0 += 1 } }
        }
        let seen: Int? = monitor.wait(until: SystemTime.monotonic() + 20_000_000_000) { $0 == 100 ? $0 : nil }
        #expect(seen == 100)
        thread.join()
    }

    @Test("a wait in vain ends at its deadline, not before, and at once if that has passed")
    func deadline() {
        let monitor = Monitor(0)
        let start = SystemTime.monotonic()
        let never: Int? = monitor.wait(until: start + 50_000_000) { _ in nil }
        #expect(never == nil && SystemTime.monotonic() >= start + 50_000_000)
        let late: Int? = monitor.wait(until: start) { _ in nil }
        #expect(late == nil)
        // What is so already is found even then.
        #expect(monitor.wait(until: start) { $0 } == 0)
    }

    @Test("changes of many threads are not lost")
    func exclusion() throws {
        let monitor = Monitor(0)
        for thread in try (0..<4).map({ _ in try Counting(monitor) }) { thread.join() }
        #expect(monitor.withLock { $0 } == 40_000)
    }

    private final class Counting: Sendable {
        private let done = Monitor(false)
        init(_ monitor: Monitor<Int>) throws {
            let done = done
            _ = try Thread.start(name: "counting") {
                for _ in 0..<10_000 { monitor.withLock { $0 += 1 } }
                done.withLock { $0 = true }
            }
        }
        func join() { _ = done.wait(until: SystemTime.monotonic() + 20_000_000_000) { $0 ? true : nil } }
    }
}
