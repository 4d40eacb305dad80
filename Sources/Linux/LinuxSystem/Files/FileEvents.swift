import CLinux
import Glibc

/// Events of single objects (fanotify(7)): the kernel tells of changes by any process, by any name of the object.
public final class FileEvents: Sendable {
    /// What happened; several kinds may come as one event.
    public struct Kinds: OptionSet, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        /// A process opened the object.
        public static let opened = Kinds(rawValue: aclfs_EVENT_OPENED)
        /// Mode, owner, link count, times or an extended attribute changed.
        public static let attributes = Kinds(rawValue: aclfs_EVENT_ATTRIBUTES)
        /// Names in the directory changed.
        public static let names = Kinds(rawValue: aclfs_EVENT_NAMES)
        /// The object is gone, and no further event of it comes.
        public static let removed = Kinds(rawValue: aclfs_EVENT_REMOVED)
        /// Events were lost.
        public static let overflow = Kinds(rawValue: aclfs_EVENT_OVERFLOW)
    }

    public struct Event: Sendable {
        public var kinds: Kinds
        /// The process that caused it; 0 if it is of another pid namespace.
        public var process: Int32
        /// nil: the event names no object.
        public var handle: FileHandle?
    }

    private let descriptor: OwnedDescriptor
    private let reading: OwnedDescriptor
    private let writing: OwnedDescriptor

    /// - Throws: `perm` without CAP_SYS_ADMIN; `nosys` or `inval` where the kernel cannot.
    public init() throws(Errno) {
        descriptor = OwnedDescriptor(rawValue: try value(aclfs_events_open()))
        var ends: [Int32] = [-1, -1]
        try value(aclfs_wake_pipe(&ends))
        reading = OwnedDescriptor(rawValue: ends[0])
        writing = OwnedDescriptor(rawValue: ends[1])
    }

    /// Asks for the events of an object. Its inode stays in memory.
    /// - Parameters:
    ///   - object: O_PATH is enough.
    ///   - isDirectory: the names in it count too.
    /// - Throws: `nomem`, `nospc`, or an errno for a file system that has no such events.
    public func add(_ object: Int32, isDirectory: Bool) throws(Errno) {
        try value(aclfs_events_mark(descriptor.rawValue, object, isDirectory ? 1 : 0, 1))
    }

    /// Asks for no further events of an object.
    public func remove(_ object: Int32, isDirectory: Bool) throws(Errno) {
        try value(aclfs_events_mark(descriptor.rawValue, object, isDirectory ? 1 : 0, 0))
    }

    /// Asks for no further events of any object.
    public func removeAll() { _ = aclfs_events_flush(descriptor.rawValue) }

    /// Ends the present wait, or the next one. Any thread may call it.
    public func wake() {
        var byte: UInt8 = 1
        _ = write(writing.rawValue, &byte, 1)
    }

    /// What the kernel keeps at most (fanotify(7), max_queued_events).
    private static let longestQueue = 16384

    /// Waits for events, or for `wake`. Takes all that the kernel has, so that its queue does not fill up meanwhile.
    /// - Parameters:
    ///   - room: for the events of one read; some thousand bytes.
    ///   - body: called for each event.
    public func awaitEvents(in room: UnsafeMutableRawBufferPointer, _ body: (Event) -> Void) {
        var polled = (
            pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0)
        )
        let ready = withUnsafeMutableBytes(of: &polled) { poll($0.bindMemory(to: pollfd.self).baseAddress, 2, -1) }
        guard ready > 0, let base = room.bindMemory(to: UInt8.self).baseAddress else { return }
        // The descriptor does not block. A program may cause events without end, so one wait takes a limited number.
        var taken = 0
        while taken < Self.longestQueue {
            let count = aclfs_read(descriptor.rawValue, base, UInt64(room.count))
            guard count > 0 else { return }
            taken += Self.forEachEvent(in: UnsafeRawBufferPointer(rebasing: room[..<Int(count)]), body)
        }
    }

    private static func forEachEvent(in bytes: UnsafeRawBufferPointer, _ body: (Event) -> Void) -> Int {
        var rest = bytes[...]
        var raw = aclfs_event()
        var number = 0
        while let base = UnsafeRawBufferPointer(rebasing: rest).bindMemory(to: UInt8.self).baseAddress {
            let length = aclfs_event_at(base, UInt64(rest.count), &raw)
            if length == 0 { break }
            rest = rest.dropFirst(Int(length))
            number += 1
            let count = Int(raw.handle_count)
            let handle = withUnsafeBytes(of: &raw.handle) { bytes in
                count == 0 ? nil : FileHandle(type: raw.handle_type, bytes: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            }
            body(Event(kinds: Kinds(rawValue: raw.kinds), process: raw.process, handle: handle))
        }
        return number
    }
}

/// Events of one name in a directory (inotify(7)). On a network file system the kernel tells only of changes by this host.
public final class NameEvents: Sendable {
    public struct Kinds: OptionSet, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
        /// A file of this name was written and closed, or a file got the name.
        public static let written = Kinds(rawValue: aclfs_NAME_WRITTEN)
        /// The file lost the name.
        public static let lost = Kinds(rawValue: aclfs_NAME_LOST)
        /// The directory is gone, and no further event comes.
        public static let ended = Kinds(rawValue: aclfs_NAMES_ENDED)
    }

    private let descriptor: OwnedDescriptor
    private let reading: OwnedDescriptor
    private let writing: OwnedDescriptor
    private let name: String

    /// - Parameters:
    ///   - directory: any descriptor of it.
    ///   - name: in it.
    /// - Throws: `mfile` or `nospc` if this user may have no more of them.
    public init(in directory: Int32, name: String) throws(Errno) {
        descriptor = OwnedDescriptor(rawValue: try value(aclfs_names_open(directory)))
        var ends: [Int32] = [-1, -1]
        try value(aclfs_wake_pipe(&ends))
        reading = OwnedDescriptor(rawValue: ends[0])
        writing = OwnedDescriptor(rawValue: ends[1])
        self.name = name
    }

    /// Ends the present wait, or the next one. Any thread may call it.
    public func wake() {
        var byte: UInt8 = 1
        _ = write(writing.rawValue, &byte, 1)
    }

    /// Waits for events, or for `wake`.
    /// - Returns: what happened to the name; nothing if another name's events, or `wake`, ended the wait.
    public func next() -> Kinds {
        var polled = (
            pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0)
        )
        let ready = withUnsafeMutableBytes(of: &polled) { poll($0.bindMemory(to: pollfd.self).baseAddress, 2, -1) }
        guard ready > 0 else { return [] }
        if polled.1.revents != 0 {
            var bytes: (UInt64, UInt64) = (0, 0)
            while Glibc.read(reading.rawValue, &bytes, 16) > 0 {}
        }
        return Kinds(rawValue: aclfs_names_take(descriptor.rawValue, name))
    }
}
