import CLinux
import Glibc

/// The clocks.
public enum SystemTime {
    /// Time of day.
    public static func now() -> Timespec {
        let time = read(CLOCK_REALTIME)
        return Timespec(sec: Int64(time.tv_sec), nsec: UInt32(time.tv_nsec))
    }

    /// The time of day that file systems use for timestamps: some milliseconds behind, and never later than a timestamp that
    /// follows.
    public static func coarse() -> Timespec {
        let time = read(CLOCK_REALTIME_COARSE)
        return Timespec(sec: Int64(time.tv_sec), nsec: UInt32(time.tv_nsec))
    }

    /// Nanoseconds since an arbitrary start; it never decreases.
    public static func monotonic() -> UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Processor time of the calling thread, in nanoseconds.
    public static func threadProcessor() -> Int64 {
        let time = read(CLOCK_THREAD_CPUTIME_ID)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Sleeps. A signal may end it early.
    public static func sleep(milliseconds: UInt32) { sleep(nanoseconds: UInt64(milliseconds) * 1_000_000) }

    /// As `sleep(milliseconds:)`.
    public static func sleep(nanoseconds: UInt64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        nanosleep(&time, nil)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        let code = clock_gettime(clock, &time)
        precondition(code == 0, "the clock could not be read")
        return time
    }
}
