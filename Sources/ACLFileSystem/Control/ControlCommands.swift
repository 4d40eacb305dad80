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
        // A view only takes away, so anybody may ask for one; what else the daemon knows is its owner's.
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

    // MARK: Who is meant

    private enum Subject {
        case peer(RequestCredential)
        case other(DirectoryCredential)
    }

    /// Without a name the client himself is meant, with the groups that his process has now.
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
        // Somebody else's groups would be a way to learn what members of a group may do.
        if !isMaster(peer), known.uid == peer.uid { return .peer(credential(peer)) }
        return .other(known)
    }

    private func credential(_ peer: ControlSocket.Peer) -> RequestCredential {
        fileSystem.judge.groups.prepare(uid: peer.uid)
        return RequestCredential(uid: peer.uid, gid: peer.gid, tid: peer.pid, cache: fileSystem.judge.groups)
    }

    /// Others may be asked about only where the client could read permissions himself; the refusal does not
    /// tell whether there is anything.
    private func requireSight(
        _ asked: ExplainRequest, _ subject: Subject, _ peer: ControlSocket.Peer
    ) throws(ControlFailure) {
        if isMaster(peer) { return }
        guard case .other = subject else { return }
        guard fileSystem.explainer.mayInspect(asked, credential: credential(peer)) else { throw ControlFailure(.noent) }
    }

    /// The one thing that is told about others without a sight of the object: it tells nothing about them.
    private func closedToAll(_ asked: ExplainRequest, _ subject: Subject, _ peer: ControlSocket.Peer) -> Explanation? {
        guard !isMaster(peer), case .other = subject else { return nil }
        return fileSystem.explainer.closedBySandbox(asked, credential: credential(peer))
    }

    /// Bytes of a path in a message, PATH_MAX.
    static let longestPath = 4096

    func path(_ request: JSON, _ name: String) throws(ControlFailure) -> [[UInt8]] {
        // Measured before it is taken apart, which takes time by the number of its slashes.
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
        // What he may not read he is told only as far as it decided about him.
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

    /// Nanoseconds of a processor for one answer to an ordinary user, and one more denial.
    private static let longestLook: Int64 = 20_000_000

    private func last(_ request: JSON, _ peer: ControlSocket.Peer) throws(ControlFailure) -> JSON {
        let limit = request["count"]?.integer ?? 20
        guard limit > 0 else { throw ControlFailure(.inval, "count must be a positive number") }
        var end = request["before"]?.integer.map { UInt64(clamping: $0) } ?? .max
        let credential = isMaster(peer) ? nil : credential(peer)
        if credential != nil, end != .max { end = DenialNumber.decrypted(end) }
        var answer: [JSON] = []
        // Paths may be long, and one message is to hold the answer.
        var room = JSONText.maximumSize - 1024
        // What others may know is found out by walks; the rest is had with the next message, when it is this user's turn again.
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
                // Beyond 63 bits no reader of JSON agrees; these are numbers of mounts below.
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
