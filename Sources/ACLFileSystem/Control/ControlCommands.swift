import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy

extension ControlServer {
    func perform(
        _ request: JSON, _ peer: ControlSocket.Peer, _ descriptors: [SharedDescriptor],
        handing handed: inout [SharedDescriptor]
    ) throws(ControlFailure) -> JSON {
        let command = request["command"]?.string
        guard peer.userNamespace != .another || command == "version" else {
            throw ControlFailure(
                .perm,
                "asked from another user namespace, such as that of aclfs sandbox run or of a container, a daemon tells "
                    + "its version and nothing else")
        }
        switch command {
        case "version": return .object([.init("version", .string(facts.version)), .init("messages", .integer(1))])
        case "status":
            try requireMaster(peer)
            return status()
        case "explain": return try explain(request, peer)
        case "effective": return try effective(request, peer)
        case "last": return try last(request, peer)
        case "remount":
            try requireMaster(peer)
            return try remount(request)
        case "grant-add", "grant-remove", "grant-list":
            try requireMaster(peer)
            return try grants(request, peer)
        // A view only removes rights, so every user may ask for one. Other messages to the daemon are its owner's.
        case "places", "shows", "view": return try askDaemon(request, descriptors, peer, &handed)
        default:
            guard peer.uid == owner else { throw ControlFailure(.inval, "unknown command") }
            return try askDaemon(request, descriptors, peer, &handed)
        }
    }

    private func askDaemon(
        _ request: JSON, _ descriptors: [SharedDescriptor], _ peer: ControlSocket.Peer,
        _ handed: inout [SharedDescriptor]
    ) throws(ControlFailure) -> JSON {
        switch facts.daemon(request, descriptors, peer) {
        case .done(let answer): return answer
        case .handed(let answer, let descriptors):
            handed = descriptors
            return answer
        case .failed(let error, let message): throw ControlFailure(error, message)
        case .notMine: throw ControlFailure(.inval, "unknown command")
        }
    }

    func isMaster(_ peer: ControlSocket.Peer) -> Bool { peer.uid == 0 || peer.uid == owner }

    private func requireMaster(_ peer: ControlSocket.Peer) throws(ControlFailure) {
        guard isMaster(peer) else { throw ControlFailure(.perm, "only root and whoever mounted may ask this") }
    }

    // MARK: The subject

    private enum Subject {
        case peer(RequestCredential)
        case other(DirectoryCredential)
    }

    /// The subject of a question. Without a name it is the client, with the present groups of its process.
    private func subject(_ request: JSON, _ peer: ControlSocket.Peer) throws(ControlFailure) -> Subject {
        guard let name = request["as"]?.string else { return .peer(credential(peer)) }
        let known: DirectoryCredential
        do throws(DirectoryCredential.Failure) { known = try DirectoryCredential(name, from: TimedAccounts(fileSystem.accounts)) } catch {
            switch error {
            case .noUser(let name): throw ControlFailure(.inval, "no user '\(escapedName(name.utf8))'")
            case .noGroup(let name): throw ControlFailure(.inval, "no group '\(escapedName(name.utf8))'")
            case .system(let error): throw ControlFailure(error, "the account databases do not answer: \(error.text)")
            }
        }
        // The process' own groups: with those of the account, a client could learn what members of a group may do.
        if !isMaster(peer), known.uid == peer.uid { return .peer(credential(peer)) }
        return .other(known)
    }

    private func credential(_ peer: ControlSocket.Peer) -> RequestCredential {
        fileSystem.judge.groups.prepare(uid: peer.uid)
        return RequestCredential(uid: peer.uid, gid: peer.gid, tid: peer.pid, cache: fileSystem.judge.groups)
    }

    /// Requires that the client could read the permissions itself, for a question about another subject. The refusal does not reveal
    /// whether the object exists.
    private func requireSight(
        _ asked: ExplainRequest, _ subject: Subject, _ peer: ControlSocket.Peer
    ) throws(ControlFailure) {
        if isMaster(peer) { return }
        guard case .other = subject else { return }
        guard fileSystem.explainer.mayInspect(asked, credential: credential(peer)) else { throw ControlFailure(.noent) }
    }

    /// The answer if the sandbox closes the path to every caller: a client may read it for any subject, because it says nothing about one.
    private func closedToAll(_ asked: ExplainRequest, _ subject: Subject, _ peer: ControlSocket.Peer) -> Explanation? {
        guard !isMaster(peer), case .other = subject else { return nil }
        return fileSystem.explainer.closedBySandbox(asked, credential: credential(peer))
    }

    /// The maximum of a path in a message, in bytes (PATH_MAX).
    static let longestPath = 4096

    func path(_ request: JSON, _ name: String) throws(ControlFailure) -> [[UInt8]] {
        // Measure before splitting: that takes time in proportion to the slashes.
        guard (request.pathSize(name) ?? 0) <= Self.longestPath else { throw ControlFailure(.nametoolong) }
        guard let bytes = request.path(name) else { throw ControlFailure(.inval, "no \(name)") }
        let names = bytes.pathNames
        guard bytes.count <= Self.longestPath, names.count <= ExplainRequest.maximumNames, names.allSatisfy({ $0.count <= 255 }) else {
            throw ControlFailure(.nametoolong)
        }
        guard names.allSatisfy({ $0 != [0x2E] && $0 != [0x2E, 0x2E] }) else {
            throw ControlFailure(.inval, "a path may not hold . or ..")
        }
        return names
    }

    // MARK: The commands

    private func explain(_ request: JSON, _ peer: ControlSocket.Peer) throws(ControlFailure) -> JSON {
        guard let word = request["operation"]?.string else { throw ControlFailure(.inval, "no operation") }
        guard let operation = AskedOperation(word: word) else {
            throw ControlFailure(.inval, AskedOperation.unknown(word))
        }
        let hasSecond = request["path2"] != nil || request["path2_b64"] != nil
        let asked = ExplainRequest(
            operation, path: try path(request, "path"), secondPath: hasSecond ? try path(request, "path2") : nil)
        let subject = try subject(request, peer)
        if let closed = closedToAll(asked, subject, peer) { return closed.json() }
        try requireSight(asked, subject, peer)
        var explanation: Explanation
        switch subject {
        case .peer(let credential): explanation = try fileSystem.explainer.explain(asked, credential: credential)
        case .other(let credential): explanation = try fileSystem.explainer.explain(asked, credential: credential)
        }
        // A client that may not read the permissions learns only the entry that decided.
        if !isMaster(peer), !fileSystem.explainer.mayInspect(asked, credential: credential(peer)) { explanation.considered = [] }
        if request["brief"]?.bool == true {
            explanation.steps = explanation.steps.suffix(1)
            explanation.considered = []
        }
        return explanation.json()
    }

    private func effective(_ request: JSON, _ peer: ControlSocket.Peer) throws(ControlFailure) -> JSON {
        let path = try path(request, "path")
        let subject = try subject(request, peer)
        let asked = ExplainRequest(.right(.delete), path: path)
        if let closed = closedToAll(asked, subject, peer) { return .array([closed.json()]) }
        try requireSight(asked, subject, peer)
        let answers: [Explanation]
        switch subject {
        case .peer(let credential): answers = try fileSystem.explainer.effective(path, credential: credential)
        case .other(let credential): answers = try fileSystem.explainer.effective(path, credential: credential)
        }
        return .array(
            answers.map { answer in
                var answer = answer
                answer.steps = answer.steps.suffix(1)
                answer.considered = []
                return answer.json()
            })
    }

    /// Nanoseconds of processor time for an answer to an ordinary user; the denial that exceeds it is the last.
    private static let longestLook: Int64 = 20_000_000

    private func last(_ request: JSON, _ peer: ControlSocket.Peer) throws(ControlFailure) -> JSON {
        let limit = request["count"]?.integer ?? 20
        guard limit > 0 else { throw ControlFailure(.inval, "count must be a positive number") }
        var end = request["before"]?.integer.map { UInt64(clamping: $0) } ?? .max
        let credential = isMaster(peer) ? nil : credential(peer)
        if credential != nil, end != .max { end = DenialNumber.decrypted(end) }
        var answer: [JSON] = []
        // The answer must fit into one message, and paths may be long.
        var room = JSONText.maximumSize - 1024
        // Each location that an ordinary user may learn costs walks. The client asks for the rest with its next message.
        let start = SystemTime.threadProcessor()
        for denial in fileSystem.judge.denials.last(
            Int(clamping: limit), of: isMaster(peer) ? nil : peer.uid, before: end
        ).prefix(300) {
            let number = credential == nil ? denial.sequence : DenialNumber.encrypted(denial.sequence)
            let shown = json(denial, number, fileSystem.explainer.location(of: denial, visibleTo: credential))
            room -= JSONText.write(shown).count + 1
            if room < 0 { break }
            answer.append(shown)
            if credential != nil, SystemTime.threadProcessor() - start > Self.longestLook { break }
        }
        return .array(answer)
    }

    private func json(_ denial: Denial, _ number: UInt64, _ location: DenialLocation) -> JSON {
        .object(
            [
                .init("number", .integer(Int64(clamping: number))), .init("time", .integer(denial.time)),
                .init("uid", .integer(Int64(denial.uid))), .init("operation", .string(denial.operation)),
                // A string: readers of JSON disagree beyond 63 bits, and inode numbers of mounts below exceed them.
                .init("inode", denial.inode.map { .string(String($0)) } ?? .null),
                .init("errno", .string(denial.errno)), .init("stage", .string(denial.stage)),
            ] + (denial.rule.map { [.init("rule", .string($0))] } ?? []) + location.members)
    }

    private var sandbox: JSON {
        guard let profile = fileSystem.profile, case .object(var members) = profile.summary else { return .null }
        if let reason = fileSystem.closedBecause { members.append(.init("closed", .string(reason))) }
        return .object(members)
    }

    private func status() -> JSON {
        let counters = fileSystem.judge.counters
        let denials = counters.denials.sorted { $0.key < $1.key }
        return .object([
            JSON.path(facts.source.utf8, name: "source"), JSON.path(facts.mountpoint.utf8, name: "mountpoint"),
            .init("version", .string(facts.version)), .init("owner", .integer(Int64(owner))),
            .init("metadata", .string(fileSystem.loader.tree.metadataName)),
            .init(
                "shared", fileSystem.loader.tree.sharedFileSystem(of: fileSystem.loader.tree.root).map { .string($0.name) } ?? .bool(false)),
            .init(
                "options",
                .array(
                    (fileSystem.options.words(volume: fileSystem.volume) + facts.kernelWords()).map { .string($0) })),
            .init("sandbox", sandbox), .init("running_sandboxes", .integer(Int64(facts.runningSandboxes()))),
            .init("source_reachable_by", .string(facts.sourceReach())),
            .init("paths", .object(facts.paths())),
            .init("cache", .object(fileSystem.kernel.cache.members)),
            .init("zerofill", .object(fileSystem.operations.gaps.members)),
            .init("data", .object(fileSystem.data.members)),
            .init(
                "counters",
                .object([
                    .init("allowed", .integer(Int64(clamping: counters.decisionsAllowed))),
                    .init(
                        "denied",
                        .object(denials.map { .init($0.key, .integer(Int64(clamping: $0.value))) })),
                ])),
        ])
    }
}
