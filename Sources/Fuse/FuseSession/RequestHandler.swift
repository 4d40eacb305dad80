import Glibc

/// Serves the requests of one mount. A file system overrides the requests that it supports.
///
/// Calls come from many threads at once. Each reply must be answered once, by any thread. A request that is not
/// overridden is denied with EPERM. Names are bytes, valid during the call only. The conformance is unchecked,
/// because subclasses have the state: many threads must be able to use it safely.
open class RequestHandler: @unchecked Sendable {
    /// What stands for root as a caller; nil: root is root. Every caller is made by it, before any method sees the request.
    public let squashedRoot: SquashedRoot?

    public init(squashing squashedRoot: SquashedRoot? = nil) { self.squashedRoot = squashedRoot }

    /// Called before the first request. It must not use the mount itself.
    open func initialized(_ negotiated: Negotiated) {}

    /// Called after the last request was answered.
    open func destroyed() {}

    /// The kernel has forgotten `count` look-ups of the node. There is no reply.
    open func forget(_ node: NodeID, count: UInt64) {}

    /// Called for a request that the kernel sends again, before it is served.
    /// - Parameter request: its number.
    /// - Returns: true: it is answered with EIO.
    open func repeated(_ request: UInt64) -> Bool { false }

    /// Called before a request that may depend on the caller's groups; not before reads and writes of open files.
    open func willServe(_ caller: Caller) {}

    // MARK: Names

    /// Looks up a name. A reply with a node counts as one look-up.
    open func lookup(
        _ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EntryReply
    ) {
        reply.fail(EPERM)
    }

    /// Creates a file or special file; `mode` includes the type, before the umask; `rdev` as in `ObjectAttributes`.
    open func mknod(
        _ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, rdev: UInt64, caller: Caller,
        reply: consuming EntryReply
    ) {
        reply.fail(EPERM)
    }

    /// Creates a directory; `mode` before the umask.
    open func mkdir(
        _ name: UnsafePointer<CChar>, in parent: NodeID, mode: UInt32, caller: Caller,
        reply: consuming EntryReply
    ) {
        reply.fail(EPERM)
    }

    /// Creates a symbolic link.
    open func symlink(
        _ name: UnsafePointer<CChar>, in parent: NodeID, target: UnsafePointer<CChar>, caller: Caller,
        reply: consuming EntryReply
    ) {
        reply.fail(EPERM)
    }

    /// Adds a name to a node.
    open func link(
        _ node: NodeID, as name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller,
        reply: consuming EntryReply
    ) {
        reply.fail(EPERM)
    }

    /// Removes the name of an object other than a directory.
    open func unlink(
        _ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// Removes a directory.
    open func rmdir(
        _ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// - Parameter flags: of renameat2(2).
    open func rename(
        _ name: UnsafePointer<CChar>, in parent: NodeID, to newName: UnsafePointer<CChar>, in newParent: NodeID,
        flags: UInt32, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    // MARK: Attributes

    /// Returns the attributes; `handle` if the caller has one.
    open func getattr(_ node: NodeID, handle: HandleID?, caller: Caller, reply: consuming AttributeReply) {
        reply.fail(EPERM)
    }

    /// Sent instead of getattr if the caller requests the birth time; `mask` is statx(2)'s.
    open func statx(
        _ node: NodeID, handle: HandleID?, mask: UInt32, caller: Caller, reply: consuming AttributeReply
    ) {
        reply.fail(EPERM)
    }

    /// Changes attributes, the size included.
    open func setattr(
        _ node: NodeID, _ changes: SetAttributes, caller: Caller, reply: consuming AttributeReply
    ) {
        reply.fail(EPERM)
    }

    /// Returns the target of a symbolic link.
    open func readlink(_ node: NodeID, caller: Caller, reply: consuming LinkTargetReply) {
        reply.fail(EPERM)
    }

    /// access(2) and chdir(2); `mask` is 4, 2 and 1 for reading, writing and executing, or 0.
    open func access(_ node: NodeID, mask: Int32, caller: Caller, reply: consuming EmptyReply) {
        reply.fail(EPERM)
    }

    /// Returns the statistics of the file system.
    open func statfs(_ node: NodeID, caller: Caller, reply: consuming StatfsReply) {
        reply.fail(EPERM)
    }

    // MARK: Extended attributes

    /// Sets an extended attribute; `flags` of setxattr(2).
    open func setxattr(
        _ node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32, caller: Caller,
        reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// With a `size` of 0 only the size of the value is requested.
    open func getxattr(
        _ node: NodeID, name: UnsafePointer<CChar>, size: Int, caller: Caller, reply: consuming XattrReply
    ) {
        reply.fail(EPERM)
    }

    /// The answer is a list of names, each ending in NUL.
    open func listxattr(_ node: NodeID, size: Int, caller: Caller, reply: consuming XattrReply) {
        reply.fail(EPERM)
    }

    /// Removes an extended attribute.
    open func removexattr(
        _ node: NodeID, name: UnsafePointer<CChar>, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    // MARK: Files

    /// `flags` has 0x20 if the file is opened for execution.
    open func open(
        _ node: NodeID, flags: Int32, killSetID: Bool, caller: Caller, reply: consuming OpenReply
    ) {
        reply.fail(EPERM)
    }

    /// Creates and opens a file, or opens an existing one, unless `flags` has O_EXCL.
    open func create(
        _ name: UnsafePointer<CChar>, in parent: NodeID, flags: Int32, mode: UInt32, killSetID: Bool,
        caller: Caller, reply: consuming CreateReply
    ) {
        reply.fail(EPERM)
    }

    /// Creates a file without a name.
    open func tmpfile(
        in parent: NodeID, flags: Int32, mode: UInt32, caller: Caller, reply: consuming CreateReply
    ) {
        reply.fail(EPERM)
    }

    /// Reads at most `size` bytes; fewer only at the end.
    open func read(
        _ node: NodeID, handle: HandleID, offset: Int64, size: Int, flags: Int32, caller: Caller,
        reply: consuming DataReply
    ) {
        reply.fail(EPERM)
    }

    /// `flags` are the handle's current ones, not those at open.
    open func write(
        _ node: NodeID, handle: HandleID, offset: Int64, bytes: UnsafeRawBufferPointer, flags: Int32,
        writeFlags: WriteFlags, caller: Caller, reply: consuming WriteReply
    ) {
        reply.fail(EPERM)
    }

    /// A descriptor of the handle was closed; others may remain.
    open func flush(
        _ node: NodeID, handle: HandleID, lockOwner: UInt64, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// The handle is closed. The kernel ignores the answer, and the request may have no caller.
    open func release(
        _ node: NodeID, handle: HandleID, flags: Int32, lockOwner: UInt64, caller: Caller,
        reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// fsync(2), or fdatasync(2) if `dataOnly`.
    open func fsync(
        _ node: NodeID, handle: HandleID, dataOnly: Bool, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// fallocate(2); `mode` as there.
    open func fallocate(
        _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64, caller: Caller,
        reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// SEEK_DATA and SEEK_HOLE only; the kernel handles the others.
    open func lseek(
        _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32, caller: Caller,
        reply: consuming OffsetReply
    ) {
        reply.fail(EPERM)
    }

    /// copy_file_range(2).
    open func copyFileRange(
        from source: FilePosition, to destination: FilePosition, length: UInt64, flags: UInt64, caller: Caller,
        reply: consuming WriteReply
    ) {
        reply.fail(EPERM)
    }

    /// `flags` are FUSE_IOCTL_*; the sizes follow from the command's number.
    open func ioctl(
        _ node: NodeID, handle: HandleID, command: UInt32, flags: UInt32, input: UnsafeRawBufferPointer,
        outputSize: Int, caller: Caller, reply: consuming IoctlReply
    ) {
        reply.fail(EPERM)
    }

    // MARK: Directories

    /// Opens a directory.
    open func opendir(_ node: NodeID, flags: Int32, caller: Caller, reply: consuming OpenReply) {
        reply.fail(EPERM)
    }

    /// `offset` is 0 or that of an entry returned before.
    open func readdir(
        _ node: NodeID, handle: HandleID, offset: UInt64, caller: Caller, reply: consuming DirectoryReply
    ) {
        reply.fail(EPERM)
    }

    /// As `readdir`, with nodes and attributes.
    open func readdirplus(
        _ node: NodeID, handle: HandleID, offset: UInt64, caller: Caller, reply: consuming DirectoryReply
    ) {
        reply.fail(EPERM)
    }

    /// The handle of a directory is closed.
    open func releasedir(
        _ node: NodeID, handle: HandleID, flags: Int32, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// As `fsync`, of a directory.
    open func fsyncdir(
        _ node: NodeID, handle: HandleID, dataOnly: Bool, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.fail(EPERM)
    }

    /// syncfs(2).
    open func syncfs(_ node: NodeID, caller: Caller, reply: consuming EmptyReply) {
        reply.fail(EPERM)
    }
}

/// A position in an open file.
public struct FilePosition: Equatable, Sendable {
    public var node: NodeID
    public var handle: HandleID
    public var offset: Int64

    public init(node: NodeID, handle: HandleID, offset: Int64) {
        self.node = node
        self.handle = handle
        self.offset = offset
    }
}

/// The flags of a WRITE.
public struct WriteFlags: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A delayed write from the page cache: its caller and handle are not those of the original write.
    public static let fromCache = WriteFlags(rawValue: 1 << 0)
    public static let lockOwner = WriteFlags(rawValue: 1 << 1)
    /// Set-id bits must be cleared.
    public static let killSetID = WriteFlags(rawValue: 1 << 2)
}
