import CLinux
import Glibc

extension Syscall {
    /// Whether a descriptor has exceptional news by now, as /proc/self/mountinfo has when something was mounted or unmounted.
    public static func hasExceptionalNews(_ descriptor: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
        return poll(&polled, 1, 0) > 0
    }
}

/// Sleeps until a time comes, a watched descriptor has news, or somebody wakes it.
public final class Waiter: Sendable {
    /// Why a wait ended; several may hold, none if the time came.
    public struct News: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let woken = News(rawValue: 1)
        /// The watched descriptor has exceptional news, which is how /proc/self/mountinfo tells of changes.
        public static let watched = News(rawValue: 2)
    }

    private let reading: OwnedDescriptor
    private let writing: OwnedDescriptor

    public init() throws(Errno) {
        var ends: [Int32] = [-1, -1]
        let code = aclfs_wake_pipe(&ends)
        if code < 0 { throw Errno(rawValue: -code) }
        reading = OwnedDescriptor(rawValue: ends[0])
        writing = OwnedDescriptor(rawValue: ends[1])
    }

    /// From any thread; a wait that begins later ends at once.
    public func wake() {
        var byte: UInt8 = 1
        // A full pipe wakes as well.
        _ = write(writing.rawValue, &byte, 1)
    }

    /// - Parameters:
    ///   - descriptor: watched for exceptional news besides; -1 watches none.
    ///   - deadline: monotonic nanoseconds; nil waits without end.
    public func wait(watching descriptor: Int32 = -1, until deadline: UInt64?) -> News {
        var timeout: Int32 = -1
        if let deadline {
            let now = SystemTime.monotonic()
            // Rounded up, so that a deadline has passed when the wait is over.
            timeout = deadline <= now ? 0 : Int32(clamping: (deadline - now + 999_999) / 1_000_000)
        }
        var polled = [
            pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0),
        ]
        guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return [] }
        var news: News = []
        if polled[0].revents != 0 {
            news.insert(.woken)
            var bytes: (UInt64, UInt64) = (0, 0)
            while read(reading.rawValue, &bytes, 16) > 0 {}
        }
        if polled[1].revents != 0 { news.insert(.watched) }
        return news
    }
}
