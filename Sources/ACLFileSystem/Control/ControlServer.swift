import ACLFormats
import Authorization
import ControlProtocol
import Identity
import LinuxSystem

/// Answers the messages of docs/control.md on a socket of its own threads, apart from those that serve
/// requests: a slow or hostile client costs the mount nothing.
public final class ControlServer: Sendable {
    /// What the file system itself does not know of its mount.
    public struct MountFacts: Sendable {
        public var source: String
        public var mountpoint: String
        public var version: String
        /// Which ways requests and data take; nil until the kernel has introduced itself.
        public var paths: @Sendable () -> StatusAnswer.Paths?
        /// Who gets at the backing directory without being judged.
        public var sourceReach: @Sendable () -> String
        /// The mount's flags as the kernel has them now, in the words of `-o`.
        public var kernelWords: @Sendable () -> [String]
        /// What concerns the daemon and not this mount alone: messages of its own user about further mounts, and
        /// anybody's about views of this one.
        public var daemon: @Sendable (ReceivedRequest, [SharedDescriptor], ControlSocket.Peer) -> DaemonAnswer = { _, _, _ in
            .notMine
        }

        /// How many views of this mount commands run in.
        public var runningSandboxes: @Sendable () -> Int = { 0 }

        /// What is granted to applications, for all mounts of the daemon; the user who asks.
        public var grants: @Sendable (GrantOrder, UInt32) -> DaemonAnswer = { _, _ in .notMine }

        public enum DaemonAnswer: Sendable {
            case done(any ControlAnswer)
            /// Descriptors go along with the answer.
            case handed(any ControlAnswer, [SharedDescriptor])
            case failed(Errno, String)
            case notMine
        }

        public init(
            source: String, mountpoint: String, version: String, paths: @escaping @Sendable () -> StatusAnswer.Paths?,
            sourceReach: @escaping @Sendable () -> String, kernelWords: @escaping @Sendable () -> [String]
        ) {
            (self.source, self.mountpoint, self.version, self.paths) = (source, mountpoint, version, paths)
            (self.sourceReach, self.kernelWords) = (sourceReach, kernelWords)
        }
    }

    static let clientsOfOneUser = 8
    static let clients = 64
    private static let passing: [Errno] = [.mfile, .nfile, .nomem, .again]

    let fileSystem: FileSystem
    let facts: MountFacts
    /// Who mounted, and so may ask everything, besides root.
    let owner: UInt32
    private let path: String
    /// Tells our name in the file system from one that a later mount has put there. Open, so that its inode number
    /// is given to no other while we live.
    private let name: SharedDescriptor
    private let socket: ControlSocket
    private let clientCounts = Lock<[UInt32: Int]>([:])
    private let turns = ControlTurns()

    /// Binds `path`; what lies there is left over from a mount that has gone.
    public init(_ fileSystem: FileSystem, at path: String, owner: UInt32, facts: MountFacts) throws(Errno) {
        do { try Syscall.unlinkat(Syscall.workingDirectory, path) } catch { if error != .noent { throw error } }
        (self.fileSystem, self.path, self.owner, self.facts) = (fileSystem, path, owner, facts)
        socket = try ControlSocket.listen(at: path)
        name = SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.noFollow))
    }

    /// Starts to answer; returns at once.
    public func start() throws(Errno) {
        _ = try Thread.start(name: "aclfs-control") { [self] in
            while true {
                let client: ControlSocket
                do throws(Errno) { client = try socket.accept() } catch {
                    // Out of descriptors or memory passes; a socket that was shut down does not come back.
                    guard Self.passing.contains(error) else { return }
                    SystemTime.sleep(milliseconds: 100)
                    continue
                }
                serve(client)
            }
        }
    }

    /// Takes the name away; clients that are being answered are left to end.
    public func stop() {
        if let there = try? Syscall.statxAt(Syscall.workingDirectory, path),
            let ours = try? Syscall.statx(name.rawValue), (there.device, there.inode) == (ours.device, ours.inode)
        {
            try? Syscall.unlinkat(Syscall.workingDirectory, path)
        }
        socket.shutdown()
        turns.stop()
    }

    private func serve(_ client: ControlSocket) {
        guard let peer = try? client.peer(), (try? client.setTimeout(milliseconds: 1000)) != nil else { return }
        let isAdmitted = clientCounts.withLock { counts in
            let total = counts.values.reduce(0, +)
            // Root must get through whatever others do.
            guard counts[peer.uid, default: 0] < Self.clientsOfOneUser, total < Self.clients || peer.uid == 0 else {
                return false
            }
            counts[peer.uid, default: 0] += 1
            return true
        }
        guard isAdmitted else {
            try? client.send(ControlReply.failure(.again, "too many clients of this user; try again").message())
            // A user who only connects, again and again, takes the processor no more often than this.
            if !isMaster(peer) { SystemTime.sleep(milliseconds: 1) }
            return
        }
        do {
            _ = try Thread.start(name: "aclfs-client") { [self] in
                converse(client, peer)
                leave(peer.uid)
            }
        } catch { leave(peer.uid) }
    }

    private func leave(_ uid: UInt32) {
        clientCounts.withLock { counts in
            let left = counts[uid, default: 1] - 1
            counts[uid] = left > 0 ? left : nil
        }
    }

    /// One message, one answer, until the client has had enough or is silent for a second.
    private func converse(_ client: ControlSocket, _ peer: ControlSocket.Peer) {
        var peer = peer
        var meter = ControlMeter(isMaster(peer) ? nil : turns, uid: peer.uid)
        guard meter.begin() else { return refuse(client) }
        // As root, whose daemon's threads may be seen as somebody who may look at nobody.
        peer.userNamespace = (try? FileSystemUser.asRoot { () throws(Errno) in client.peerUserNamespace }) ?? .another
        // Anybody else's are not even taken: to close one may wait for ever for whoever serves it.
        let mayHand = isMaster(peer) && peer.userNamespace != .another
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
                answer = .failure(error, "a message may have \(JSONText.maximumSize) bytes")
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
            ControlReply.failure(.again, "this user asks for more than the daemon answers to one user; ask less often, and try again")
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
        // These may wait for others; meanwhile the user's next question is answered.
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
