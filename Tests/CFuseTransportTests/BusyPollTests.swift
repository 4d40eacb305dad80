import Glibc
import Testing
import TransportHarness

/// The wait before a worker sleeps (decision 19).
@Suite(.serialized) struct BusyPollTests {
    private struct Pipe: ~Copyable {
        let ends: (read: Int32, write: Int32)
        init() {
            var ends: [Int32] = [-1, -1]
            precondition(pipe(&ends) == 0)
            self.ends = (ends[0], ends[1])
        }
        deinit {
            close(ends.read)
            close(ends.write)
        }
    }

    /// Nanoseconds.
    private static func time(_ call: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let start = now()
        call()
        return now() - start
    }

    private static func with(possible: Bool = true, _ body: (OpaquePointer) -> Void) {
        let state = harness_busy_poll_new(possible)
        defer { harness_busy_poll_free(state) }
        body(state)
    }

    private static func note(_ state: OpaquePointer, _ callers: [UInt32]) {
        for caller in callers { harness_busy_poll_note(state, caller) }
    }

    @Test func requestsOfOneCallerInARowAreCounted() {
        Self.with { state in
            Self.note(state, [5, 5, 5])
            #expect(harness_busy_poll_streak(state) == 2)
            Self.note(state, [6])
            #expect(harness_busy_poll_streak(state) == 0)
            // The kernel's own requests have no caller.
            Self.note(state, [6, 0, 6, 0])
            #expect(harness_busy_poll_streak(state) == 2)
        }
    }

    @Test func behindFourInARowItIsLookedForTheNext() {
        let pipe = Pipe()
        Self.with { state in
            Self.note(state, [5, 5, 5, 5])
            harness_busy_poll(state, pipe.ends.read)
            // It was not looked for: that would have been in vain.
            #expect(harness_busy_poll_streak(state) == 3)
            Self.note(state, [5])
            let time = Self.time { harness_busy_poll(state, pipe.ends.read) }
            #expect(time >= 30_000)
            #expect(harness_busy_poll_streak(state) == 0)
        }
    }

    @Test func itEndsWithTheNextRequest() {
        let pipe = Pipe()
        Self.with { state in
            Self.note(state, [5, 5, 5, 5, 5])
            #expect(write(pipe.ends.write, "x", 1) == 1)
            harness_busy_poll(state, pipe.ends.read)
            // Not in vain.
            #expect(harness_busy_poll_streak(state) == 4)
        }
    }

    @Test func withOneProcessorItIsNeverLooked() {
        let pipe = Pipe()
        Self.with(possible: false) { state in
            Self.note(state, [5, 5, 5, 5, 5, 5])
            harness_busy_poll(state, pipe.ends.read)
            #expect(harness_busy_poll_streak(state) == 5)
        }
    }
}
