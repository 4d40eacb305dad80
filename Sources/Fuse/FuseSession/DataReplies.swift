import CFuseShim
import Glibc

// Replies that carry bytes (see Replies.swift).

/// Answers READ.
public struct DataReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// - Returns: whether the kernel accepted the reply; the same for all answers.
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

    /// - Parameter count: the number of bytes written.
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

/// Answers GETXATTR and LISTXATTR.
public struct XattrReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request
    /// In bytes; 0 = only the size is requested.
    public let requestedSize: Int

    init(_ request: aclfs_fuse_request, requestedSize: Int) {
        self.request = request
        self.requestedSize = requestedSize
    }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// Answers with the value, with its size if only that is requested, or with ERANGE if it does not fit.
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

    /// Answers with the size only; for a request of size 0.
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

/// Answers READLINK.
public struct LinkTargetReply: ~Copyable, @unchecked Sendable {
    private let request: aclfs_fuse_request

    init(_ request: aclfs_fuse_request) { self.request = request }

    deinit { _ = aclfs_fuse_reply_error(request, EIO) }

    /// - Parameter target: its bytes, without a terminating zero.
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
