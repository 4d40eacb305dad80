import CFuseShim
import Glibc

// A reply answers one request exactly once: each answer consumes it, and one that is dropped answers EIO, so that no
// caller is left waiting. Answers tell whether the kernel took them; it does not when the caller was killed, and what
// the answer handed out (a look-up count, a handle) is then ours to take back. A reply may be sent by any thread.

/// Answers LOOKUP, MKNOD, MKDIR, SYMLINK and LINK.
public struct EntryReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ entry: Entry) -> Bool {
        let result = withUnsafePointer(to: entry.raw) { aclfs_fuse_reply_entry(request, $0) }
        discard self
        return result == 0
    }

    /// Says that there is no such name, in a way that the kernel may remember; for LOOKUP.
    @discardableResult
    public consuming func absent(validFor seconds: Double) -> Bool {
        var entry = aclfs_fuse_entry()
        entry.entry_valid = seconds
        let result = seconds > 0 ? aclfs_fuse_reply_entry(request, &entry) : aclfs_fuse_reply_error(request, ENOENT)
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers GETATTR, SETATTR and STATX.
public struct AttributeReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ attributes: ObjectAttributes, validFor seconds: Double) -> Bool {
        let result = withUnsafePointer(to: attributes.raw) {
            aclfs_fuse_reply_attributes(request, $0, seconds)
        }
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers OPEN and OPENDIR.
public struct OpenReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ opening: Opening) -> Bool {
        let result = withUnsafePointer(to: opening.raw) { aclfs_fuse_reply_open(request, $0) }
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers CREATE and TMPFILE.
public struct CreateReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ entry: Entry, _ opening: Opening) -> Bool {
        let result = withUnsafePointer(to: entry.raw) { entry in
            withUnsafePointer(to: opening.raw) { aclfs_fuse_reply_create(request, entry, $0) }
        }
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers READ.
public struct DataReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let result = aclfs_fuse_reply_bytes(request, bytes.baseAddress, bytes.count)
        discard self
        return result == 0
    }

    @discardableResult
    public consuming func answer(_ bytes: RawSpan) -> Bool {
        let request = request
        let result = bytes.withUnsafeBytes { aclfs_fuse_reply_bytes(request, $0.baseAddress, $0.count) }
        discard self
        return result == 0
    }

    /// Answers with what `body` puts into a buffer of this thread: it returns a count, or -errno.
    @discardableResult
    public consuming func fill(capacity: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        guard let start = aclfs_fuse_scratch(capacity) else {
            fail(ENOMEM)
            return false
        }
        let count = body(UnsafeMutableRawBufferPointer(start: start, count: capacity))
        guard count >= 0 else {
            fail(Int32(truncatingIfNeeded: -count))
            return false
        }
        let result = aclfs_fuse_reply_bytes(request, start, min(count, capacity))
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers WRITE and COPY_FILE_RANGE.
public struct WriteReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(written count: UInt64) -> Bool {
        let result = aclfs_fuse_reply_written(request, count)
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers a request that has no result but success.
public struct EmptyReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// Whether the caller was interrupted meanwhile; to be asked before the answer.
    public var interruption: Interruption { Interruption(request) }

    @discardableResult
    public consuming func answer() -> Bool {
        let result = aclfs_fuse_reply_done(request)
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Whether a request that is not answered yet was interrupted.
public struct Interruption: @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    public var hasCome: Bool { aclfs_fuse_interrupted(request) }
}

/// Answers GETXATTR and LISTXATTR.
public struct XattrReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request
    /// 0 asks for the size alone.
    public let requestedSize: Int

    init(_ request: aclfs_fuse_request, requestedSize: Int) {
        self.request = request
        self.requestedSize = requestedSize
    }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// Answers with the value, its size if only that was asked for, or ERANGE if it does not fit.
    @discardableResult
    public consuming func answer(_ value: UnsafeRawBufferPointer) -> Bool {
        let result = Self.send(value, requestedSize, request)
        discard self
        return result == 0
    }

    /// As above.
    @discardableResult
    public consuming func answer(_ value: RawSpan) -> Bool {
        let (request, requestedSize) = (request, requestedSize)
        let result = value.withUnsafeBytes { Self.send($0, requestedSize, request) }
        discard self
        return result == 0
    }

    private static func send(
        _ value: UnsafeRawBufferPointer, _ requestedSize: Int, _ request: aclfs_fuse_request
    ) -> Int32 {
        if requestedSize == 0 { return aclfs_fuse_reply_xattr_size(request, value.count) }
        if value.count > requestedSize { return aclfs_fuse_reply_error(request, ERANGE) }
        return aclfs_fuse_reply_bytes(request, value.baseAddress, value.count)
    }

    /// Answers with the size alone; for a request of size 0.
    @discardableResult
    public consuming func answer(size: Int) -> Bool {
        let result = aclfs_fuse_reply_xattr_size(request, size)
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers STATFS.
public struct StatfsReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ statistics: FileSystemStatistics) -> Bool {
        let result = withUnsafePointer(to: statistics.raw) { aclfs_fuse_reply_statfs(request, $0) }
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers READLINK.
public struct LinkTargetReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// The bytes of the target, without a terminating zero.
    @discardableResult
    public consuming func answer(_ target: UnsafeRawBufferPointer) -> Bool {
        let result = aclfs_fuse_reply_bytes(request, target.baseAddress, target.count)
        discard self
        return result == 0
    }

    @discardableResult
    public consuming func answer(_ target: RawSpan) -> Bool {
        let request = request
        let result = target.withUnsafeBytes { aclfs_fuse_reply_bytes(request, $0.baseAddress, $0.count) }
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers LSEEK.
public struct OffsetReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(_ offset: Int64) -> Bool {
        let result = aclfs_fuse_reply_offset(request, offset)
        discard self
        return result == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers IOCTL.
public struct IoctlReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    @discardableResult
    public consuming func answer(result: Int32 = 0) -> Bool {
        let code = aclfs_fuse_reply_ioctl(request, result, nil, 0)
        discard self
        return code == 0
    }

    @discardableResult
    public consuming func answer(result: Int32 = 0, output: UnsafeRawBufferPointer) -> Bool {
        let code = aclfs_fuse_reply_ioctl(request, result, output.baseAddress, output.count)
        discard self
        return code == 0
    }

    @discardableResult
    public consuming func answer(result: Int32 = 0, output: RawSpan) -> Bool {
        let request = request
        let code = output.withUnsafeBytes { aclfs_fuse_reply_ioctl(request, result, $0.baseAddress, $0.count) }
        discard self
        return code == 0
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}

/// Answers READDIR and READDIRPLUS: add entries while they fit, then finish.
public struct DirectoryReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request
    private let capacity: Int
    private var buffer: UnsafeMutableRawPointer?
    private var used = 0

    init(_ request: aclfs_fuse_request, capacity: Int) {
        self.request = request
        self.capacity = capacity
    }

    deinit {
        free(buffer)
        _ = aclfs_fuse_reply_error(request, EIO)
    }

    /// Adds an entry of READDIR; false if it does not fit. `offset` is where the listing goes on after it.
    public mutating func add(name: UnsafePointer<CChar>, ino: UInt64, type: UInt32, offset: UInt64) -> Bool {
        guard let start = room() else { return false }
        let size = aclfs_fuse_add_dirent(start, capacity - used, name, ino, type, offset)
        used += size
        return size > 0
    }

    /// Adds an entry of READDIRPLUS; false if it does not fit. Every one added counts as a look-up of its node, except
    /// node 0, which only shows the name.
    public mutating func add(name: UnsafePointer<CChar>, entry: Entry, offset: UInt64) -> Bool {
        guard let start = room() else { return false }
        let size = withUnsafePointer(to: entry.raw) {
            aclfs_fuse_add_direntplus(start, capacity - used, name, $0, offset)
        }
        used += size
        return size > 0
    }

    /// Answers with what was added; nothing means the end of the directory.
    @discardableResult
    public consuming func finish() -> Bool {
        let result = aclfs_fuse_reply_bytes(request, buffer, used)
        free(buffer)
        discard self
        return result == 0
    }

    private mutating func room() -> UnsafeMutableRawPointer? {
        if buffer == nil { buffer = malloc(capacity) }
        return buffer.map { $0 + used }
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) {
        free(buffer)
        _ = aclfs_fuse_reply_error(request, errno)
        discard self
    }
}
