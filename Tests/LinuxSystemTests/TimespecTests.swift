import LinuxSystem
import Testing

@Suite struct TimespecTests {
    @Test func movesByPartsOfASecondAndEndsAtTheLastTime() {
        let time = Timespec(sec: 10, nsec: 20)
        #expect(time.moved(nanoseconds: -21) == Timespec(sec: 9, nsec: 999_999_999))
        #expect(time.moved(nanoseconds: -2_000_000_000) == Timespec(sec: 8, nsec: 20))
        #expect(time.moved(nanoseconds: 1_999_999_980) == Timespec(sec: 12, nsec: 0))
        #expect(time.moved(seconds: -11, nanoseconds: 5) == Timespec(sec: -1, nsec: 25))
        #expect(Timespec(sec: 0, nsec: .max).moved(nanoseconds: .max).nsec < 1_000_000_000)
        for (start, move, end) in [(Int64.max, Int64(1), Int64.max), (.min, -1, .min), (.max, .max, .max), (.min, .min, .min)] {
            #expect(Timespec(sec: start, nsec: 5).moved(seconds: move).sec == end)
            #expect(Timespec(sec: start, nsec: 5).moved(nanoseconds: move).sec.magnitude >= Int64.max.magnitude - 9_223_372_037)
        }
    }
}
