import CFuseShim
import Glibc

// A reply answers one request exactly once: each answer consumes it, and one that is dropped answers EIO, so that no
// caller is left waiting. Answers tell whether the kernel took them; it does not when the caller was killed, and what
// the answer handed out (a look-up count, a handle) is then ours to take back. A reply may be sent by any thread.

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
