import CFuseShim
import FuseMounts
import Glibc

/// Features of the kernel that can be masked: the daemon then does not use them.
public struct KernelFeatures: OptionSet, Hashable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let killPriv2 = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_KILLPRIV2))
    public static let statx = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_STATX))
    public static let passthrough = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_PASSTHROUGH))
    public static let uring = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_URING))
    public static let epoch = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_EPOCH))
    public static let expire = KernelFeatures(rawValue: UInt32(ACLFS_FUSE_MASK_EXPIRE))

    /// The feature with this name in options.
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

/// The parameters of a session for the reply to INIT.
public struct SessionConfiguration: Equatable, Sendable {
    public var masked: KernelFeatures
    public var transport: Transport
    /// The maximum of requests in flight without a waiting caller; 0 = the library's default.
    public var maxBackground: UInt32
    public var readdirplus: Bool
    /// Whether the kernel may look up "." and ".." of a node that it forgot.
    public var exported: Bool
    /// 0 = no passthrough; 1 = with an ordinary backing file system, 2 = with one that is itself stacked.
    public var passthroughDepth: UInt32
    /// The library prints requests and replies on standard error.
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

/// The features that the kernel offered and those that are used.
public struct Negotiated: Equatable, Sendable {
    public var kernelMajor: UInt32
    public var kernelMinor: UInt32
    /// All 64 flags without those of masked features.
    public var offeredFlags: UInt64
    public var usedFlags: UInt64
    public var maxWrite: UInt32
    public var parallelDirectoryOperations: Bool
    public var killPriv2: Bool
    public var passthrough: Bool
    /// STATX is supported in the kernel's version, and not masked.
    public var statx: Bool
    public var expire: Bool
    /// Tested by a notification.
    public var epoch: Bool
    /// Requests come over io_uring.
    public var uring: Bool
    /// The error because of which they do not.
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

/// What a process has to know of a session to serve its connection after another process.
public struct SavedSession: Equatable, Sendable {
    /// The kernel's INIT as it came.
    public var initMessage: [UInt8]
    public var usedFlags: UInt64
    public var maxWrite: UInt32

    /// - Parameters:
    ///   - initMessage: the kernel's INIT as it came.
    ///   - usedFlags: those of the reply.
    ///   - maxWrite: bytes, of the reply.
    public init(initMessage: [UInt8], usedFlags: UInt64, maxWrite: UInt32) {
        (self.initMessage, self.usedFlags, self.maxWrite) = (initMessage, usedFlags, maxWrite)
    }
}

/// Owns the shim's session. It is separate from `Session`, so that a handler may keep a `Notifier` without a cycle.
final class Channel: Sendable {
    // Opaque and immutable; the shim locks its target.
    nonisolated(unsafe) let raw: OpaquePointer

    init(raw: OpaquePointer) { self.raw = raw }

    deinit { aclfs_fuse_session_free(raw) }
}

/// Serves one mount with its device descriptor.
public final class Session: Sendable {
    private let channel: Channel
    private let handler: RequestHandler

    /// Invalidates the kernel's caches. It does not keep the handler alive.
    public let notifier: Notifier

    /// Takes ownership of the descriptor, also if it throws.
    /// - Parameters:
    ///   - handler: serves the requests.
    ///   - deviceDescriptor: of `/dev/fuse`.
    ///   - configuration: the parameters of the session.
    ///   - saved: what a process left that has served the connection; nil for a new connection.
    ///   - resends: that process died, so requests may have been read and not answered.
    /// - Throws: step `prepare`.
    public init(
        handler: RequestHandler, deviceDescriptor: Int32, configuration: SessionConfiguration = SessionConfiguration(),
        resuming saved: SavedSession? = nil, resends: Bool = false
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
        guard let saved else { return }
        let error = aclfs_fuse_session_resume(raw, saved.initMessage, saved.initMessage.count, saved.usedFlags, saved.maxWrite, resends)
        if error < 0 { throw SessionError(.prepare, errno: -error) }
    }

    /// Serves until the mount ends or `stop` is called, and every request is answered. Call it once; the kernel's
    /// connection ends with the session.
    /// - Parameter workers: the number of threads; at least 1.
    /// - Throws: step `transport` or `serve`.
    public func run(workers: Int) throws(SessionError) {
        let result = aclfs_fuse_session_run(channel.raw, UInt32(clamping: max(workers, 1)))
        // A second caller must not end the first one's session.
        if result != -EBUSY { handler.destroyed() }
        if result == -EPROTONOSUPPORT { throw SessionError(.transport, errno: EPROTONOSUPPORT) }
        if result != 0 { throw SessionError(.serve, errno: -result) }
    }

    /// Makes `run` return once current requests are answered. Any thread may call it, at any time.
    public func stop() { aclfs_fuse_session_stop(channel.raw) }

    /// Waits until every request that was read is answered, and reads no more. Then another process may serve the connection.
    /// - Parameter nanoseconds: to wait at most.
    /// - Returns: nil if that takes longer, or requests come over io_uring. Then the session goes on.
    public func pause(within nanoseconds: UInt64) -> SavedSession? {
        guard let negotiated, aclfs_fuse_session_pause(channel.raw, nanoseconds) else { return nil }
        if let saved = saved(negotiated) { return saved }
        goOn()
        return nil
    }

    /// What another process has to know to serve the connection; nil before INIT.
    public func saved(_ negotiated: Negotiated) -> SavedSession? {
        var message = [UInt8](repeating: 0, count: Int(ACLFS_FUSE_MOST_INIT))
        let size = aclfs_fuse_session_init_message(channel.raw, &message, message.count)
        message.removeLast(message.count - size)
        return message.isEmpty ? nil : SavedSession(initMessage: message, usedFlags: negotiated.usedFlags, maxWrite: negotiated.maxWrite)
    }

    /// Ends a pause.
    public func goOn() { aclfs_fuse_session_go_on(channel.raw) }

    /// nil before INIT.
    public var negotiated: Negotiated? {
        var raw = aclfs_fuse_negotiated()
        return aclfs_fuse_session_negotiated(channel.raw, &raw) ? Negotiated(raw) : nil
    }
}
