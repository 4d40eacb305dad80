import CFuseTransport
import Glibc
import LinuxSystem
import TestSupport
import TransportHarness

/// One request as the owner of the transport gets it.
struct Request: Sendable {
    var opcode: UInt32
    var unique: UInt64
    var caller: UInt32 = 0
    var uid: UInt32 = 0
    var body: [UInt8] = []

    static let initOpcode: UInt32 = 26
    static let forgetOpcode: UInt32 = 2
    static let getattrOpcode: UInt32 = 3

    var bytes: [UInt8] {
        var header = wire_in_header()
        header.len = UInt32(MemoryLayout<wire_in_header>.size + body.count)
        header.opcode = opcode
        header.unique = unique
        header.pid = caller
        header.uid = uid
        return withUnsafeBytes(of: header) { Array($0) } + body
    }

    init(opcode: UInt32 = getattrOpcode, unique: UInt64, caller: UInt32 = 0, uid: UInt32 = 0, body: [UInt8] = []) {
        self.opcode = opcode
        self.unique = unique
        self.caller = caller
        self.uid = uid
        self.body = body
    }

    /// Nothing if its length is not what its header says.
    init?(_ message: UnsafeRawBufferPointer) {
        guard message.count >= MemoryLayout<wire_in_header>.size else { return nil }
        let header = message.loadUnaligned(as: wire_in_header.self)
        guard Int(header.len) == message.count else { return nil }
        self.init(
            opcode: header.opcode, unique: header.unique, caller: header.pid, uid: header.uid,
            body: Array(message.dropFirst(MemoryLayout<wire_in_header>.size)))
    }
}

/// A reply as it is sent, with its body.
struct Reply: Equatable {
    var unique: UInt64
    var error: Int32 = 0
    var body: [UInt8] = []

    func withParts<Result>(_ use: (UnsafePointer<iovec>, Int32) -> Result) -> Result {
        var header = wire_out_header()
        header.len = UInt32(MemoryLayout<wire_out_header>.size + body.count)
        header.error = error
        header.unique = unique
        var body = body
        return withUnsafeMutableBytes(of: &header) { header in
            body.withUnsafeMutableBytes { body in
                let parts = [
                    iovec(iov_base: header.baseAddress, iov_len: header.count),
                    iovec(iov_base: body.baseAddress, iov_len: body.count),
                ]
                return use(parts, body.isEmpty ? 1 : 2)
            }
        }
    }

    init(unique: UInt64, error: Int32 = 0, body: [UInt8] = []) {
        self.unique = unique
        self.error = error
        self.body = body
    }

    init?(_ message: UnsafeRawBufferPointer) {
        guard message.count >= MemoryLayout<wire_out_header>.size else { return nil }
        let header = message.loadUnaligned(as: wire_out_header.self)
        guard Int(header.len) == message.count else { return nil }
        self.init(
            unique: header.unique, error: header.error,
            body: Array(message.dropFirst(MemoryLayout<wire_out_header>.size)))
    }
}

/// A transport that serves one end of a socket in place of /dev/fuse; the test is the kernel at the other end.
final class SocketTransport: @unchecked Sendable {
    private var transport: OpaquePointer?
    private let fuseSession: OpaquePointer
    private var kernelEnd: Int32
    private let workers: UInt32
    private let serve: @Sendable (SocketTransport, Request) -> Void
    private let initialize: @Sendable (SocketTransport) -> Void
    private var thread: pthread_t?
    private let result = Lock<Int32?>(nil)
    /// Where requests may wait until the test lets them go on, at its end at the latest.
    let gate = Gate()

    /// Runs a transport until `end`.
    /// - Parameters:
    ///   - device: what the transport is told to be the device, if not the socket.
    ///   - serve: what the owner does on a request that is not INIT.
    ///   - initialize: what it does on INIT, the first request; nil if none is sent.
    init(
        workers: UInt32, device: Int32? = nil,
        serve: @escaping @Sendable (SocketTransport, Request) -> Void = { $0.answer($1) },
        initialize: (@Sendable (SocketTransport) -> Void)? = { $0.ready() }
    ) {
        var ends: [Int32] = [-1, -1]
        // A read(2) of /dev/fuse gives one message as well.
        precondition(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        kernelEnd = ends[1]
        self.workers = workers
        self.initialize = initialize ?? { _ in }
        self.serve = serve
        guard let fuseSession = harness_session_new(ends[0]) else { fatalError("no session of libfuse") }
        self.fuseSession = fuseSession
        var owner = aclfs_transport_owner(
            userdata: Unmanaged.passUnretained(self).toOpaque(),
            process: { userdata, message, size, ring in
                guard let userdata else { return }
                Unmanaged<SocketTransport>.fromOpaque(userdata).takeUnretainedValue().process(
                    UnsafeRawBufferPointer(start: message, count: size), ring)
            })
        transport = aclfs_transport_new(fuseSession, device ?? ends[0], &owner)
        start()
        if initialize != nil { send(Request(opcode: Request.initOpcode, unique: 1)) }
    }

    var raw: OpaquePointer {
        guard let transport else { fatalError("there is none") }
        return transport
    }

    private func process(_ message: UnsafeRawBufferPointer, _ ring: OpaquePointer?) {
        guard let request = Request(message), ring == nil else { fatalError("a request that was not sent") }
        if request.opcode == Request.initOpcode { initialize(self) } else { serve(self, request) }
    }

    // MARK: the daemon's end

    private func start() {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let transport = Unmanaged<SocketTransport>.fromOpaque(argument).takeRetainedValue()
                let result = aclfs_transport_run(transport.raw, transport.workers)
                transport.result.withLock { $0 = result }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        self.thread = thread
    }

    /// What `aclfs_transport_run` has returned; nil if it has not.
    var ended: Int32? { result.withLock { $0 } }

    /// Waits until `aclfs_transport_run` returns: with what.
    func join() -> Int32? {
        guard let thread else { return ended }
        pthread_join(thread, nil)
        self.thread = nil
        return ended
    }

    /// Stops it, whatever still waits for the gate, and waits until it has ended.
    func end() {
        gate.open()
        stop()
        _ = join()
        aclfs_transport_free(raw)
        transport = nil
        harness_session_free(fuseSession)
        if kernelEnd >= 0 { close(kernelEnd) }
    }

    func ready() { aclfs_transport_ready(raw) }

    func stop(failure: Int32 = 0) { aclfs_transport_stop(raw, failure) }

    var counts: harness_counts { harness_counts(raw) }

    /// - Returns: as writev(2).
    @discardableResult
    func answer(_ request: Request, body: [UInt8] = []) -> Int {
        Reply(unique: request.unique, body: body).withParts { aclfs_transport_answer(raw, nil, $0, $1) }
    }

    // MARK: the kernel's end

    func send(_ request: Request) { send(bytes: request.bytes) }

    func send(bytes: [UInt8]) { precondition(write(kernelEnd, bytes, bytes.count) == bytes.count) }

    /// The next reply; nothing if none comes within half a minute, or what comes is none.
    func receive() -> Reply? {
        var description = pollfd(fd: kernelEnd, events: Int16(POLLIN), revents: 0)
        guard poll(&description, 1, 30_000) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(kernelEnd, &bytes, bytes.count)
        return count < 0 ? nil : bytes.prefix(count).withUnsafeBytes { Reply($0) }
    }

    func receiveUniques(_ count: Int) -> Set<UInt64> {
        var uniques: Set<UInt64> = []
        while uniques.count < count, let reply = receive() { uniques.insert(reply.unique) }
        return uniques
    }

    /// As the kernel does when the mount is gone.
    func unmount() {
        close(kernelEnd)
        kernelEnd = -1
    }
}
