import CLinux
import Glibc

extension Syscall {
    /// Whether a descriptor has an exceptional condition (POLLPRI). /proc/self/mountinfo has one after a mount or unmount.
    public static func hasExceptionalCondition(_ descriptor: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
        return poll(&polled, 1, 0) > 0
    }
}

/// Sleeps until a deadline, an exceptional condition on a descriptor, or `wake`.
public final class Waiter: Sendable {
    /// Why a wait ended: several reasons, or none at the deadline.
    public struct Reasons: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let woken = Reasons(rawValue: 1)
        /// A watched descriptor has an exceptional condition, or something to read.
        public static let watched = Reasons(rawValue: 2)
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

    /// Wakes the waiting thread; otherwise the next wait ends at once. Any thread may call it.
    public func wake() {
        var byte: UInt8 = 1
        // A full pipe wakes as well.
        _ = write(writing.rawValue, &byte, 1)
    }

    /// Waits.
    /// - Parameters:
    ///   - descriptor: watched for an exceptional condition; -1 = none.
    ///   - readable: watched for something to read; -1 = none.
    ///   - deadline: in monotonic nanoseconds; nil = no deadline.
    public func wait(watching descriptor: Int32 = -1, readable: Int32 = -1, until deadline: UInt64?) -> Reasons {
        var timeout: Int32 = -1
        if let deadline {
            let now = SystemTime.monotonic()
            // Rounded up, so that a deadline has passed when the wait is over.
            timeout = deadline <= now ? 0 : Int32(clamping: (deadline - now + 999_999) / 1_000_000)
        }
        var polled = [
            pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0),
            pollfd(fd: readable, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return [] }
        var reasons: Reasons = []
        if polled[0].revents != 0 {
            reasons.insert(.woken)
            var bytes: (UInt64, UInt64) = (0, 0)
            while read(reading.rawValue, &bytes, 16) > 0 {}
        }
        if polled[1].revents != 0 || polled[2].revents != 0 { reasons.insert(.watched) }
        return reasons
    }
}
