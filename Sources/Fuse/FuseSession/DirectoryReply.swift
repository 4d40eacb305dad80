import CFuseShim
import Glibc

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

    /// Adds an entry of READDIR.
    /// - Parameters:
    ///   - name: its name.
    ///   - ino: its inode number.
    ///   - type: as in readdir(3).
    ///   - offset: where the listing continues after it.
    /// - Returns: whether it fits.
    public mutating func add(name: UnsafePointer<CChar>, ino: UInt64, type: UInt32, offset: UInt64) -> Bool {
        guard let start = room() else { return false }
        let size = aclfs_fuse_add_dirent(start, capacity - used, name, ino, type, offset)
        used += size
        return size > 0
    }

    /// Adds an entry of READDIRPLUS. Each one counts as a look-up of its node, except node 0, which only lists the
    /// name.
    /// - Parameters:
    ///   - name: its name.
    ///   - entry: its node, attributes and timeouts.
    ///   - offset: where the listing continues after it.
    /// - Returns: whether it fits.
    public mutating func add(name: UnsafePointer<CChar>, entry: Entry, offset: UInt64) -> Bool {
        guard let start = room() else { return false }
        let size = withUnsafePointer(to: entry.raw) {
            aclfs_fuse_add_direntplus(start, capacity - used, name, $0, offset)
        }
        used += size
        return size > 0
    }

    /// Answers with the added entries; none means the end of the directory.
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
