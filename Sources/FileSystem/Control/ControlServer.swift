import ACLFormats
import Authorization
import ControlProtocol
import Glibc
import Identity
import LinuxSystem

/// Answers the messages of docs/reference/control.md. Its threads serve no requests of the kernel, so a slow or hostile client does not delay the
/// mount.
public final class ControlServer: Sendable {
    /// Facts about the mount that the file system does not know.
    public struct MountFacts: Sendable {
        public var source: String
        public var mountpoint: String
        public var version: String
        /// The transport of requests and the paths of data; nothing before the kernel's INIT.
        public var paths: @Sendable () -> [JSON.Member]
        /// Which users reach the backing directory without a decision.
        public var sourceReach: @Sendable () -> String
        /// The kernel's present flags of the mount, in the words of `-o`.
        public var kernelWords: @Sendable () -> [String]
        /// Answers messages to the daemon: those of its own user about other mounts, and those of any user about views of this one.
        public var daemon: @Sendable (ReceivedRequest, [SharedDescriptor], ControlSocket.Peer) -> DaemonAnswer = { _, _, _ in
            .notMine
        }

        /// The daemon, and those before it that died.
        public var keeping: @Sendable () -> StatusAnswer.Keeping = { StatusAnswer.Keeping(process: getpid()) }

        /// The number of commands that run in views of this mount.
        public var runningSandboxes: @Sendable () -> Int = { 0 }

        /// Their containers, as names from the mount's top.
        public var runningContainers: @Sendable () -> [[[UInt8]]] = { [] }

        /// Answers a request about grants, for all mounts of the daemon. The second argument is the uid of the client.
        public var grants: @Sendable (GrantOrder, UInt32) -> DaemonAnswer = { _, _ in .notMine }

        public enum DaemonAnswer: Sendable {
            case done(any ControlAnswer)
            /// With descriptors that are sent along.
            case handed(any ControlAnswer, [SharedDescriptor])
            case failed(Errno, String)
            /// The daemon does not know the command, or keeps no grants.
            case notMine
        }

        public init(
            source: String, mountpoint: String, version: String, paths: @escaping @Sendable () -> [JSON.Member],
            sourceReach: @escaping @Sendable () -> String, kernelWords: @escaping @Sendable () -> [String]
        ) {
            (self.source, self.mountpoint, self.version, self.paths) = (source, mountpoint, version, paths)
            (self.sourceReach, self.kernelWords) = (sourceReach, kernelWords)
        }
    }

    static let clientsOfOneUser = 8
    static let clients = 64
    /// How many more, for users that have none yet.
    static let reservedClients = 16
    private static let temporaryErrors: [Errno] = [.mfile, .nfile, .nomem, .again]

    let fileSystem: FileSystem
    let facts: MountFacts
    /// The uid of the user who mounted.
    let owner: UInt32
    private let path: String
    /// Identifies the socket's name, which a later mount may replace. The descriptor keeps the inode number from being reused.
    private let name: SharedDescriptor
    private let socket: ControlSocket
    private let clientCounts = Lock<[UInt32: Int]>([:])
    private let turns = ControlTurns()

    /// Binds the socket. A file at the path is left over from an earlier mount and is removed.
    /// - Parameters:
    ///   - fileSystem: the mount.
    ///   - path: of the socket.
    ///   - owner: the uid that mounted.
    ///   - facts: about the mount.
    /// - Throws: if the socket cannot be bound.
    public init(_ fileSystem: FileSystem, at path: String, owner: UInt32, facts: MountFacts) throws(Errno) {
        do { try Syscall.unlinkat(Syscall.workingDirectory, path) } catch { if error != .noent { throw error } }
        (self.fileSystem, self.path, self.owner, self.facts) = (fileSystem, path, owner, facts)
        socket = try ControlSocket.listen(at: path)
        name = SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.noFollow))
    }

    /// Starts the thread that answers.
    /// - Throws: if no thread can be started.
    public func start() throws(Errno) {
        _ = try Thread.start(name: "aclfs-control") { [self] in
            while true {
                let client: ControlSocket
                do throws(Errno) { client = try socket.accept() } catch {
                    // A lack of descriptors or memory is temporary; a socket that was shut down is not.
                    guard Self.temporaryErrors.contains(error) else { return }
                    SystemTime.sleep(milliseconds: 100)
                    continue
                }
                serve(client)
            }
        }
    }

    /// Removes the socket's name. Answers in progress are completed.
    public func stop() {
        if let there = try? Syscall.statxAt(Syscall.workingDirectory, path),
            let bound = try? Syscall.statx(name.rawValue), (there.device, there.inode) == (bound.device, bound.inode)
        {
            try? Syscall.unlinkat(Syscall.workingDirectory, path)
        }
        socket.shutdown()
        turns.stop()
    }

    private func serve(_ client: ControlSocket) {
        guard let peer = try? client.peer(), (try? client.setTimeout(milliseconds: 1000)) != nil else { return }
        let payer = PersonBehind.system.payer(of: peer.uid, tid: peer.pid)
        let isAdmitted = clientCounts.withLock { counts in
            let (total, own) = (counts.values.reduce(0, +), counts[payer, default: 0])
            let room = own == 0 ? Self.clients + Self.reservedClients : Self.clients
            // Root is admitted beyond the limit for all users.
            guard own < Self.clientsOfOneUser, total < room || payer == 0 else { return false }
            counts[payer] = own + 1
            return true
        }
        guard isAdmitted else {
            try? client.send(ControlReply.failure(.again, "too many clients of this user, or of all users; try again").message())
            // Slows down a user that connects again and again.
            if !isPrivileged(peer) { SystemTime.sleep(milliseconds: 1) }
            return
        }
        do {
            _ = try Thread.start(name: "aclfs-client") { [self] in
                converse(client, peer, payer)
                leave(payer)
            }
        } catch { leave(payer) }
    }

    private func leave(_ payer: UInt32) {
        clientCounts.withLock { counts in
            let left = counts[payer, default: 1] - 1
            counts[payer] = left > 0 ? left : nil
        }
    }

    /// Answers one message after the other, until the client closes the connection or is silent for a second.
    private func converse(_ client: ControlSocket, _ peer: ControlSocket.Peer, _ payer: UInt32) {
        var peer = peer
        var meter = ControlMeter(isPrivileged(peer) ? nil : turns, payer: payer)
        guard meter.begin() else { return refuse(client) }
        // As root, because this thread may have an identity that may inspect no process.
        peer.userNamespace = (try? FileSystemUser.asRoot { () throws(Errno) in client.peerUserNamespace }) ?? .another
        // Descriptors of other users are not received: closing one may wait without end for the server of its file.
        let mayHand = isPrivileged(peer) && peer.userNamespace != .another
        if mayHand { client.takeDescriptors() }
        meter.end()
        while true {
            defer { meter.end() }
            let answer: ControlReply
            var handed: [SharedDescriptor] = []
            do throws(Errno) {
                if !mayHand {
                    guard let message = try client.receive(limit: JSONText.maximumSize) else { return }
                    guard meter.begin() else { return refuse(client) }
                    answer = self.answer(to: message, peer, [], handing: &handed, &meter)
                } else {
                    guard let (message, descriptors) = try client.receiveWithDescriptors(limit: JSONText.maximumSize)
                    else { return }
                    guard meter.begin() else { return refuse(client) }
                    answer = self.answer(to: message, peer, descriptors, handing: &handed, &meter)
                }
            } catch {
                guard error == ControlSocket.tooLong else { return }
                answer = .failure(error, "a message may have at most \(JSONText.maximumSize) bytes")
            }
            var bytes = answer.message()
            if bytes.count > JSONText.maximumSize {
                bytes = ControlReply.failure(ControlSocket.tooLong, "the answer does not fit in one message").message()
            }
            do {
                if handed.isEmpty {
                    try client.send(bytes)
                } else {
                    try client.send(bytes, with: handed.map { $0.rawValue })
                }
            } catch { return }
        }
    }

    private func refuse(_ client: ControlSocket) {
        try? client.send(
            ControlReply.failure(.again, "the answers to this user have used up its quota of processor time; ask less often, and try again")
                .message())
    }

    private func answer(
        to message: [UInt8], _ peer: ControlSocket.Peer, _ descriptors: [SharedDescriptor],
        handing handed: inout [SharedDescriptor], _ meter: inout ControlMeter
    ) -> ControlReply {
        let request: ReceivedRequest
        do { request = try ReceivedRequest(message) } catch {
            let failure = ControlFailure(error)
            return .failure(failure.errno, failure.text)
        }
        switch request.command {
        // These may wait for other processes, so another answer to the user may begin meanwhile.
        case .places, .shows, .view: meter.end()
        default: break
        }
        do throws(ControlFailure) {
            return .answer(try perform(request, peer, descriptors, handing: &handed))
        } catch { return .failure(error.errno, error.text) }
    }
}

extension ControlReply {
    static func failure(_ error: Errno, _ message: String) -> ControlReply { .refusal(error: error.name, message: message) }
}
