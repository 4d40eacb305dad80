import CFuseShim
import Glibc

/// Answers one request exactly once. Each answer consumes it, and one that is discarded answers EIO, so that no caller keeps waiting.
///
/// An answer returns whether the kernel accepted it. It does not if the caller was killed; the daemon then undoes the look-up count or
/// handle in the reply. Any thread may send a reply. `Answer` says what the request asks for.
public struct Reply<Answer>: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// Reports whether the caller was interrupted; read it before the answer.
    public var interruption: Interruption { Interruption(request) }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) { _ = send { aclfs_fuse_reply_error($0, errno) } }

    /// - Parameter body: sends the answer; 0 = the kernel accepted it.
    @inline(__always)
    consuming func send(_ body: (aclfs_fuse_request) -> Int32) -> Bool {
        let result = body(request)
        discard self
        return result == 0
    }

    consuming func send(_ bytes: RawSpan) -> Bool {
        send { request in bytes.withUnsafeBytes { aclfs_fuse_reply_bytes(request, $0.baseAddress, $0.count) } }
    }
}

/// An INTERRUPT of a request that is not answered yet.
public struct Interruption: @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    public var hasArrived: Bool { aclfs_fuse_interrupted(request) }
}

/// Answers a request without a result.
public typealias EmptyReply = Reply<NoResult>
public enum NoResult {}

extension Reply<NoResult> {
    @discardableResult
    public consuming func answer() -> Bool { send { aclfs_fuse_reply_done($0) } }
}

/// Answers LOOKUP, MKNOD, MKDIR, SYMLINK and LINK.
public typealias EntryReply = Reply<Entry>

extension Reply<Entry> {
    @discardableResult
    public consuming func answer(_ entry: Entry) -> Bool {
        send { request in withUnsafePointer(to: entry.raw) { aclfs_fuse_reply_entry(request, $0) } }
    }

    /// Answers LOOKUP with "no such name", which the kernel may cache.
    /// - Parameter seconds: the timeout of this entry.
    /// - Returns: whether the kernel accepted the reply.
    @discardableResult
    public consuming func absent(validFor seconds: Double) -> Bool {
        var entry = aclfs_fuse_entry()
        entry.entry_valid = seconds
        return send { seconds > 0 ? aclfs_fuse_reply_entry($0, &entry) : aclfs_fuse_reply_error($0, ENOENT) }
    }
}

/// Answers GETATTR, SETATTR and STATX.
public typealias AttributeReply = Reply<ObjectAttributes>

extension Reply<ObjectAttributes> {
    /// - Parameters:
    ///   - attributes: of the object.
    ///   - seconds: their timeout; 0 = the kernel asks at each use.
    @discardableResult
    public consuming func answer(_ attributes: ObjectAttributes, validFor seconds: Double) -> Bool {
        send { request in withUnsafePointer(to: attributes.raw) { aclfs_fuse_reply_attributes(request, $0, seconds) } }
    }
}

/// Answers OPEN and OPENDIR.
public typealias OpenReply = Reply<Opening>

extension Reply<Opening> {
    @discardableResult
    public consuming func answer(_ opening: Opening) -> Bool {
        send { request in withUnsafePointer(to: opening.raw) { aclfs_fuse_reply_open(request, $0) } }
    }
}

/// Answers CREATE and TMPFILE.
public typealias CreateReply = Reply<(Entry, Opening)>

extension Reply<(Entry, Opening)> {
    @discardableResult
    public consuming func answer(_ entry: Entry, _ opening: Opening) -> Bool {
        send { request in
            withUnsafePointer(to: entry.raw) { entry in withUnsafePointer(to: opening.raw) { aclfs_fuse_reply_create(request, entry, $0) } }
        }
    }
}

/// Answers STATFS.
public typealias StatfsReply = Reply<FileSystemStatistics>

extension Reply<FileSystemStatistics> {
    @discardableResult
    public consuming func answer(_ statistics: FileSystemStatistics) -> Bool {
        send { request in withUnsafePointer(to: statistics.raw) { aclfs_fuse_reply_statfs(request, $0) } }
    }
}

/// Answers LSEEK.
public typealias OffsetReply = Reply<FileOffset>
public enum FileOffset {}

extension Reply<FileOffset> {
    @discardableResult
    public consuming func answer(_ offset: Int64) -> Bool { send { aclfs_fuse_reply_offset($0, offset) } }
}

/// Answers WRITE and COPY_FILE_RANGE.
public typealias WriteReply = Reply<WrittenCount>
public enum WrittenCount {}

extension Reply<WrittenCount> {
    /// - Parameter count: the number of bytes written.
    @discardableResult
    public consuming func answer(written count: UInt64) -> Bool { send { aclfs_fuse_reply_written($0, count) } }
}

/// Answers READ.
public typealias DataReply = Reply<FileData>
public enum FileData {}

extension Reply<FileData> {
    /// Answers with the bytes that `body` writes into a buffer of this thread.
    /// - Parameters:
    ///   - capacity: of the buffer, in bytes.
    ///   - body: returns the number of bytes, or -errno.
    /// - Returns: whether the kernel accepted the reply.
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
        return send { aclfs_fuse_reply_bytes($0, start, min(count, capacity)) }
    }
}

/// Answers READLINK.
public typealias LinkTargetReply = Reply<LinkTarget>
public enum LinkTarget {}

extension Reply<LinkTarget> {
    /// - Parameter target: its bytes, without a terminating zero.
    @discardableResult
    public consuming func answer(_ target: RawSpan) -> Bool { send(target) }
}

/// Answers IOCTL.
public typealias IoctlReply = Reply<IoctlOutput>
public enum IoctlOutput {}

extension Reply<IoctlOutput> {
    @discardableResult
    public consuming func answer(output: RawSpan) -> Bool {
        send { request in output.withUnsafeBytes { aclfs_fuse_reply_ioctl(request, 0, $0.baseAddress, $0.count) } }
    }
}

enum XattrValue {}

/// Answers GETXATTR and LISTXATTR.
public struct XattrReply: ~Copyable, Sendable {
    private let reply: Reply<XattrValue>
    /// In bytes; 0 = only the size is requested.
    public let requestedSize: Int

    init(_ request: aclfs_fuse_request, requestedSize: Int) {
        reply = Reply(request)
        self.requestedSize = requestedSize
    }

    /// Answers with the value, with its size if only that is requested, or with ERANGE if it does not fit.
    @discardableResult
    public consuming func answer(_ value: RawSpan) -> Bool {
        if requestedSize == 0 { return reply.send { aclfs_fuse_reply_xattr_size($0, value.byteCount) } }
        if value.byteCount > requestedSize { return reply.send { aclfs_fuse_reply_error($0, ERANGE) } }
        return reply.send(value)
    }

    /// Answers with a positive errno.
    public consuming func fail(_ errno: Int32) { reply.fail(errno) }
}
