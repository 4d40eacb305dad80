import ACLFormats
import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy

extension ControlServer {
    func perform(
        _ request: ReceivedRequest, _ peer: ControlSocket.Peer, _ descriptors: [SharedDescriptor],
        handing handed: inout [SharedDescriptor]
    ) throws(ControlFailure) -> any ControlAnswer {
        guard peer.userNamespace != .another || request.command == .version else {
            throw ControlFailure(
                .perm,
                "the client is in another user namespace, such as that of aclfs sandbox run or of a container: it gets an answer "
                    + "to version only")
        }
        switch request.command {
        case .version: return VersionAnswer(program: facts.version)
        case .status:
            try requirePrivileged(peer)
            return status()
        case .explain: return try explain(try read(request, ExplainMessage.init(reading:)), peer)
        case .effective: return try effective(try read(request, EffectiveMessage.init(reading:)), peer)
        case .last: return try last(try read(request, LastMessage.init(reading:)), peer)
        case .remount:
            try requirePrivileged(peer)
            return try remount(try read(request, RemountMessage.init(reading:)))
        case .upgrade:
            guard peer.uid == 0 else { throw ControlFailure(.perm, "only root may ask this") }
            return try askDaemon(request, descriptors, peer, &handed)
        case .grantAdd, .grantRemove, .grantList:
            try requirePrivileged(peer)
            return try grants(request, peer)
        // A view only removes rights, so every user may ask for one.
        case .places, .shows, .view: return try askDaemon(request, descriptors, peer, &handed)
        // Root changes backing directories of all users with `aclfs acl import`, and none that is served.
        case .serves:
            guard isPrivileged(peer) else { throw Self.unknownCommand }
            return try askDaemon(request, descriptors, peer, &handed)
        // Only the user who mounted may make this daemon serve further mounts.
        case .serve:
            guard peer.uid == owner else { throw Self.unknownCommand }
            return try askDaemon(request, descriptors, peer, &handed)
        case nil: throw Self.unknownCommand
        }
    }

    private static let unknownCommand = ControlFailure(.inval, "unknown command")

    /// Reads the members of a message. Call it after the check that the client may send the command.
    func read<Message>(
        _ request: ReceivedRequest, _ message: (ReceivedRequest) throws(RequestProblem) -> Message
    ) throws(ControlFailure) -> Message {
        do { return try message(request) } catch { throw ControlFailure(error) }
    }

    private func askDaemon(
        _ request: ReceivedRequest, _ descriptors: [SharedDescriptor], _ peer: ControlSocket.Peer,
        _ handed: inout [SharedDescriptor]
    ) throws(ControlFailure) -> any ControlAnswer {
        switch facts.daemon(request, descriptors, peer) {
        case .done(let answer): return answer
        case .handed(let answer, let descriptors):
            handed = descriptors
            return answer
        case .failed(let error, let message): throw ControlFailure(error, message)
        case .notMine: throw Self.unknownCommand
        }
    }

    /// Whether the client is root or the user who mounted (docs/reference/control.md).
    func isPrivileged(_ peer: ControlSocket.Peer) -> Bool { peer.uid == 0 || peer.uid == owner }

    private func requirePrivileged(_ peer: ControlSocket.Peer) throws(ControlFailure) {
        guard isPrivileged(peer) else { throw ControlFailure(.perm, "only root and the user who mounted may ask this") }
    }

    // MARK: The subject

    private enum Subject {
        case peer(RequestCredential)
        case other(DirectoryCredential)
    }

    /// The subject of a question. Without a name it is the client, with the present groups of its process.
    private func subject(_ name: String?, _ peer: ControlSocket.Peer) throws(ControlFailure) -> Subject {
        guard let name else { return .peer(credential(peer)) }
        let known: DirectoryCredential
        do throws(DirectoryCredential.Failure) { known = try DirectoryCredential(name, from: TimedAccounts(fileSystem.accounts)) } catch {
            switch error {
            case .noUser(let name): throw ControlFailure(.inval, "no user '\(escapedName(name.utf8))'")
            case .noGroup(let name): throw ControlFailure(.inval, "no group '\(escapedName(name.utf8))'")
            case .system(let error): throw ControlFailure(error, "the account databases do not answer: \(error.text)")
            }
        }
        // The groups of the client's process count. With those of its account, a client could learn what members of a group may do that
        // its process does not belong to.
        if !isPrivileged(peer), known.uid == peer.uid { return .peer(credential(peer)) }
        return .other(judged(known))
    }

    /// An account as this mount judges its requests.
    private func judged(_ known: DirectoryCredential) -> DirectoryCredential {
        var judged = known
        if known.uid == 0, let squashed = fileSystem.options.squashedRoot {
            judged = DirectoryCredential(uid: squashed.uid, gid: squashed.gid, groups: [])
            judged.standsForRoot = true
        }
        judged.identities = fileSystem.judge.identities
        return judged
    }

    /// What a reader of an answer about root has to know; nil if root is not squashed here, or was not asked about.
    private func squashNote(_ subject: Subject, _ peer: ControlSocket.Peer) -> String? {
        guard let squashed = fileSystem.options.squashedRoot else { return nil }
        let isRoot =
            switch subject {
            case .peer: peer.uid == 0
            case .other(let known): known.standsForRoot
            }
        return isRoot ? "rootsquash: root is judged as uid \(squashed.uid) on this mount" : nil
    }

    private func credential(_ peer: ControlSocket.Peer) -> RequestCredential {
        fileSystem.judge.groups.prepare(uid: peer.uid, tid: peer.pid)
        let groups = fileSystem.judge.groups
        guard peer.uid == 0, let squashed = fileSystem.options.squashedRoot else {
            return RequestCredential(uid: peer.uid, gid: peer.gid, tid: peer.pid, cache: groups)
        }
        return RequestCredential(uid: squashed.uid, gid: squashed.gid, tid: peer.pid, cache: groups, isSquashed: true)
    }

    /// Requires, for a question about another subject, that the client may read the permissions of the object. The error does not reveal
    /// whether the object exists.
    private func requireReadablePermissions(
        _ asked: ExplainQuestion, _ subject: Subject, _ peer: ControlSocket.Peer
    ) throws(ControlFailure) {
        if isPrivileged(peer) { return }
        guard case .other = subject else { return }
        guard fileSystem.explainer.mayInspect(asked, credential: credential(peer)) else { throw ControlFailure(.noent) }
    }

    /// The answer if the sandbox closes the path to every caller. Any client may read it, because it says nothing about the subject.
    private func closedToAll(_ asked: ExplainQuestion, _ subject: Subject, _ peer: ControlSocket.Peer) -> Explanation? {
        guard !isPrivileged(peer), case .other = subject else { return nil }
        return fileSystem.explainer.closedBySandbox(asked, credential: credential(peer))
    }

    // MARK: The commands

    private func explain(_ message: ExplainMessage, _ peer: ControlSocket.Peer) throws(ControlFailure) -> ExplainAnswer {
        let asked = ExplainQuestion(message.called.operation, path: message.path, secondPath: message.secondPath)
        let subject = try subject(message.subject, peer)
        if let closed = closedToAll(asked, subject, peer) { return ExplainAnswer(closed) }
        try requireReadablePermissions(asked, subject, peer)
        var explanation: Explanation
        switch subject {
        case .peer(let credential): explanation = try fileSystem.explainer.explain(asked, credential: credential)
        case .other(let credential): explanation = try fileSystem.explainer.explain(asked, credential: credential)
        }
        if let note = squashNote(subject, peer) { explanation.notes.append(note) }
        if fileSystem.volume.ignoresACLs { explanation.notes.append(Explanation.entriesDoNotCount) }
        // The flag alone would not say why root cannot clear it.
        if message.called.operation.call == .chflags, explanation.denial != nil, explanation.steps.last?.stage == "flags:object" {
            explanation.notes.append(
                "securelevel=\(fileSystem.volume.securelevel): no flag of an object with schg or sappnd changes while this is mounted")
        }
        // A client that may not read the permissions learns only the entry that decided.
        if !isPrivileged(peer), !fileSystem.explainer.mayInspect(asked, credential: credential(peer)) { explanation.considered = [] }
        if message.isBrief {
            explanation.steps = explanation.steps.suffix(1)
            explanation.considered = []
        }
        return ExplainAnswer(explanation)
    }

    private func effective(_ message: EffectiveMessage, _ peer: ControlSocket.Peer) throws(ControlFailure) -> EffectiveAnswer {
        let path = message.path
        let subject = try subject(message.subject, peer)
        let asked = ExplainQuestion(.right(.delete), path: path)
        if let closed = closedToAll(asked, subject, peer) { return EffectiveAnswer([closed]) }
        try requireReadablePermissions(asked, subject, peer)
        let answers: [Explanation]
        switch subject {
        case .peer(let credential): answers = try fileSystem.explainer.effective(path, credential: credential)
        case .other(let credential): answers = try fileSystem.explainer.effective(path, credential: credential)
        }
        return EffectiveAnswer(
            answers.map { answer in
                var answer = answer
                answer.steps = answer.steps.suffix(1)
                answer.considered = []
                return answer
            })
    }

    /// Nanoseconds of processor time for an answer to an ordinary user. The denial that exceeds them is the last of the answer.
    private static let longestSearch: Int64 = 20_000_000

    private func last(_ message: LastMessage, _ peer: ControlSocket.Peer) throws(ControlFailure) -> LastAnswer {
        var end = message.before.map { UInt64(clamping: $0) } ?? .max
        let credential = isPrivileged(peer) ? nil : credential(peer)
        if credential != nil, end != .max { end = DenialNumber.decrypted(end) }
        var answer: [DenialForm] = []
        // The answer must fit into one message, and paths may be long.
        var room = JSONText.maximumSize - 1024
        // For an ordinary user, each location is checked by walks through the tree. The client asks for the rest in its next message.
        let start = SystemTime.threadProcessor()
        for denial in fileSystem.judge.denials.last(
            Int(clamping: message.count), of: isPrivileged(peer) ? nil : peer.uid, before: end
        ).prefix(300) {
            let number = credential == nil ? denial.sequence : DenialNumber.encrypted(denial.sequence)
            let form = form(of: denial, number, at: fileSystem.explainer.location(of: denial, visibleTo: credential))
            room -= JSONText.write(form.json).count + 1
            if room < 0 { break }
            answer.append(form)
            if credential != nil, SystemTime.threadProcessor() - start > Self.longestSearch { break }
        }
        return LastAnswer(answer)
    }

    private func form(of denial: Denial, _ number: UInt64, at location: DenialLocation) -> DenialForm {
        let present: DenialForm.Location =
            switch location {
            case .path(let names): .path(names)
            case .gone: .gone
            case .unknown: .unknown
            }
        return DenialForm(
            number: number, time: denial.time, uid: denial.uid, operation: denial.operation, inode: denial.inode,
            errno: denial.errno, stage: denial.stage, rule: denial.rule, location: present)
    }

    private func status() -> StatusAnswer {
        let counters = fileSystem.judge.counters
        let denials = counters.denials.sorted { $0.key < $1.key }
        let tree = fileSystem.loader.tree
        let watched = fileSystem.mounts.share.watched.usage
        return StatusAnswer(
            source: facts.source, mountpoint: facts.mountpoint, version: facts.version, owner: owner,
            metadata: tree.storesRecords ? tree.metadataName : "none",
            attributeRoom: (try? tree.rootAttributeSpace())?.forOthers(
                recordName: tree.metadataName, entries: fileSystem.options.listRoom),
            sharedKind: tree.sharedFileSystem(of: tree.root)?.name,
            options: fileSystem.options.words(volume: fileSystem.volume) + facts.kernelWords(),
            sandbox: fileSystem.profile.map { ProfileSummary($0, closed: fileSystem.closedBecause) },
            runningSandboxes: facts.runningSandboxes(), runningContainers: facts.runningContainers(),
            sourceReach: facts.sourceReach(), identitiesProblem: fileSystem.judge.identities?.problem, keeping: facts.keeping(),
            paths: facts.paths(),
            cache: fileSystem.kernel.cache.status + [.init(.watchedObjects, watched.objects), .init(.watchedBytes, watched.bytes)],
            zeroFill: fileSystem.operations.gaps.status, data: fileSystem.files.status,
            counters: [
                .init(.allowed, counters.decisionsAllowed), .init(.denied, .object(denials.map { .init($0.key, .number($0.value)) })),
            ])
    }
}

/// The number of a denial as an ordinary user reads it.
///
/// The log counts the denials of all users: two of its numbers would tell a user how many denials others had in between. So the user gets
/// the number encrypted, by a permutation of 62 bits with a key of this process (a Feistel cipher of four rounds).
enum DenialNumber {
    private static let half: UInt64 = 31
    private static let mask: UInt64 = 1 << half - 1
    private static let key = UInt64.random(in: 0...(.max))

    static func encrypted(_ sequence: UInt64) -> UInt64 {
        var (left, right) = (sequence >> half & mask, sequence & mask)
        for round in 0..<4 { (left, right) = (right, left ^ mixed(right, round)) }
        return left << half | right
    }

    static func decrypted(_ number: UInt64) -> UInt64 {
        var (left, right) = (number >> half & mask, number & mask)
        for round in (0..<4).reversed() { (left, right) = (right ^ mixed(left, round), left) }
        return left << half | right
    }

    private static func mixed(_ half: UInt64, _ round: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(round)
        hasher.combine(half)
        return UInt64(truncatingIfNeeded: hasher.finalize()) & mask
    }
}
