import CFuseShim
import Glibc

// A reply answers one request exactly once. Each answer consumes it, and one that is discarded answers EIO, so that
// no caller keeps waiting. An answer returns whether the kernel accepted it. It does not if the caller was killed;
// the daemon then undoes the look-up count or handle in the reply. Any thread may send a reply.

/// Answers a request without a result.
public struct EmptyReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// Reports whether the caller was interrupted; read it before the answer.
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

/// An INTERRUPT of a request that is not answered yet.
public struct Interruption: @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    public var hasArrived: Bool { aclfs_fuse_interrupted(request) }
}

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

    /// Answers LOOKUP with "no such name", which the kernel may cache.
    /// - Parameter seconds: the timeout of this entry.
    /// - Returns: whether the kernel accepted the reply.
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

    /// - Parameters:
    ///   - attributes: of the object.
    ///   - seconds: their timeout; 0 = the kernel asks at each use.
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
