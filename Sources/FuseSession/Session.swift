import CFuseShim
import Glibc

/// Why a mount or a session failed.
public struct SessionError: Error, Equatable, Sendable {
    public enum Step: Sendable {
        case mount, mountThroughFusermount, unmount, prepare, serve
        /// io_uring was demanded, and something is in the way.
        case transport
    }

    public var step: Step
    public var errno: Int32

    init(_ step: Step, errno: Int32) {
        self.step = step
        self.errno = errno
    }
}

/// Kernel features that can be hidden, as if the kernel did not have them.
public struct KernelFeatures: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let killPriv2 = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_KILLPRIV2))
    public static let statx = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_STATX))
    public static let passthrough = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_PASSTHROUGH))
    public static let uring = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_URING))
    public static let epoch = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_EPOCH))
    public static let expire = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_EXPIRE))

    /// The feature that an option calls by this name.
    public init?(name: String) {
        switch name {
        case "killpriv2": self = .killPriv2
        case "statx": self = .statx
        case "passthrough": self = .passthrough
        case "uring": self = .uring
        case "epoch": self = .epoch
        case "expire": self = .expire
        default: return nil
        }
    }
}

/// What is asked of the kernel when it introduces itself.
public struct SessionConfiguration: Equatable, Sendable {
    public var masked: KernelFeatures
    public var transport: Transport
    /// Requests that may be under way without a waiting caller; 0 leaves it to the library.
    public var maxBackground: UInt32
    public var readdirplus: Bool
    /// Whether the kernel may look up "." and ".." of a node that it forgot.
    public var exported: Bool
    /// 0 asks for no passthrough; 1 for a backing file system of its own, 2 for one that is itself stacked.
    public var passthroughDepth: UInt32
    /// Requests and replies are printed on standard error.
    public var debug: Bool

    public init(
        masked: KernelFeatures = [], transport: Transport = .automatic, maxBackground: UInt32 = 64, readdirplus: Bool = false,
        exported: Bool = false, passthroughDepth: UInt32 = 0, debug: Bool = false
    ) {
        self.masked = masked
        self.transport = transport
        self.maxBackground = maxBackground
        self.readdirplus = readdirplus
        self.exported = exported
        self.passthroughDepth = passthroughDepth
        self.debug = debug
    }

    var raw: aclfs_fuse_configuration {
        aclfs_fuse_configuration(
            masked: masked.rawValue, transport: transport.raw, max_background: maxBackground,
            max_stack_depth: passthroughDepth, readdirplus: readdirplus, exported: exported, debug: debug)
    }
}

/// What the kernel offered and what was agreed upon.
public struct Negotiated: Equatable, Sendable {
    public var kernelMajor: UInt32
    public var kernelMinor: UInt32
    /// All 64 flags, less those of masked features.
    public var offeredFlags: UInt64
    public var usedFlags: UInt64
    public var maxWrite: UInt32
    public var parallelDirectoryOperations: Bool
    public var killPriv2: Bool
    public var passthrough: Bool
    /// The kernel knows STATX by its version, and it is not masked.
    public var statx: Bool
    public var expire: Bool
    /// Found out by trying.
    public var epoch: Bool
    /// Requests come over io_uring.
    public var uring: Bool
    /// The errno that stood in the way of that.
    var ringFailure: Int32

    init(_ raw: aclfs_fuse_negotiated) {
        kernelMajor = raw.kernel_major
        kernelMinor = raw.kernel_minor
        offeredFlags = raw.offered
        usedFlags = raw.used
        maxWrite = raw.max_write
        parallelDirectoryOperations = raw.parallel_dirops
        killPriv2 = raw.killpriv_v2
        passthrough = raw.passthrough
        statx = raw.statx
        expire = raw.expire
        epoch = raw.epoch
        uring = raw.uring
        ringFailure = raw.uring_failure
    }
}

/// Owns the shim's session. Apart from `Session`, so that a handler may keep a `Notifier` without a cycle.
final class Channel: Sendable {
    // Opaque and immutable; the shim locks what it points to.
    nonisolated(unsafe) let raw: OpaquePointer

    init(raw: OpaquePointer) { self.raw = raw }

    deinit { aclfs_fuse_session_free(raw) }
}

/// Serves one mount through its device descriptor.
public final class Session: Sendable {
    private let channel: Channel
    private let handler: RequestHandler

    /// Tells the kernel what it must no longer believe. Does not keep the handler alive.
    public let notifier: Notifier

    /// Owns the descriptor from here on, also if it throws.
    public init(
        handler: RequestHandler, deviceDescriptor: Int32, configuration: SessionConfiguration = SessionConfiguration()
    ) throws(SessionError) {
        var table = dispatchTable
        var configuration = configuration.raw
        var raw: OpaquePointer?
        let result = aclfs_fuse_session_new(
            &table, Unmanaged.passUnretained(handler).toOpaque(), deviceDescriptor, &configuration, &raw)
        guard let raw else { throw SessionError(.prepare, errno: -result) }
        self.handler = handler
        channel = Channel(raw: raw)
        notifier = Notifier(channel: channel)
    }

    /// Serves on that many threads until the mount is gone or `stop` was called, and every request is answered. Only
    /// once; then the kernel's connection ends with the session.
    public func run(workers: Int) throws(SessionError) {
        let result = aclfs_fuse_session_run(channel.raw, UInt32(clamping: max(workers, 1)))
        // A second caller must not end the first one's session.
        if result != -EBUSY { handler.destroyed() }
        if result == -EPROTONOSUPPORT { throw SessionError(.transport, errno: EPROTONOSUPPORT) }
        if result != 0 { throw SessionError(.serve, errno: -result) }
    }

    /// Makes `run` return once the requests in hand are answered. From any thread, at any time.
    public func stop() { aclfs_fuse_session_stop(channel.raw) }

    /// Nothing before the kernel introduced itself.
    public var negotiated: Negotiated? {
        var raw = aclfs_fuse_negotiated()
        return aclfs_fuse_session_negotiated(channel.raw, &raw) ? Negotiated(raw) : nil
    }
}
