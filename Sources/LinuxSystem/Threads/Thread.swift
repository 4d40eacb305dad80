import CLinux
import Glibc

/// A POSIX thread. Unless it is joined it is detached when this value ends.
public struct Thread: ~Copyable, Sendable {
    private let id: pthread_t

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }

    private init(id: pthread_t) { self.id = id }

    /// Starts a thread. `name` is cut at 15 bytes; `stackSize` in bytes, `nil` = the system's default. Errors:
    /// again if there are too many threads, inval for a stack that is too small.
    public static func start(
        name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(Errno) -> Thread {
        var attributes = pthread_attr_t()
        try check(pthread_attr_init(&attributes))
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { try check(pthread_attr_setstacksize(&attributes, stackSize)) }
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var id = pthread_t()
        let code = pthread_create(
            &id, &attributes,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                aclfs_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        if code != 0 {
            start.release()
            throw Errno(rawValue: code)
        }
        return Thread(id: id)
    }

    /// Waits until the thread has ended.
    public consuming func join() {
        let id = self.id
        discard self
        pthread_join(id, nil)
    }

    deinit { pthread_detach(id) }

    private static func check(_ code: Int32) throws(Errno) {
        if code != 0 { throw Errno(rawValue: code) }
    }
}

/// The clocks.
public enum SystemTime {
    /// Time of day.
    public static func now() -> Timespec {
        let time = read(CLOCK_REALTIME)
        return Timespec(sec: Int64(time.tv_sec), nsec: UInt32(time.tv_nsec))
    }

    /// Time of day as file systems stamp with it: some milliseconds late, and never later than a stamp that follows.
    public static func coarse() -> Timespec {
        let time = read(CLOCK_REALTIME_COARSE)
        return Timespec(sec: Int64(time.tv_sec), nsec: UInt32(time.tv_nsec))
    }

    /// Nanoseconds since an arbitrary start; never goes back.
    public static func monotonic() -> UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds of a processor that the calling thread has had.
    public static func threadProcessor() -> Int64 {
        let time = read(CLOCK_THREAD_CPUTIME_ID)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// May end early when a signal comes.
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
