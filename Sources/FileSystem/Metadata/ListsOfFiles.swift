import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem

// `system.aclfs.lists` (docs/reference/control.md "Lists of many files"). Each file is judged and changed as by a request of its own; whatever needs
// more than that is left to such a request. Setting an attribute is what a read-only mount refuses, and it holds the kernel's lock on the
// directory (docs/internals/coherence.md R4).
extension MetadataChanges {
    /// Changes the lists of files in a directory: at least one, and so many as take some milliseconds.
    /// - Parameters:
    ///   - id: of the directory.
    ///   - value: a `ListsRequest`.
    /// - Throws: `inval` if it is none, `opnotsupp` where each file needs a request of its own, `notdir`; the errno of a denial if the caller
    ///   may find nothing in the directory.
    func changeLists(in id: NodeID, _ value: UnsafeRawBufferPointer, _ caller: Caller) throws(Errno) {
        guard let request = ListsRequest(reading: value), let first = request.names.first else { throw .inval }
        let directory = try loader.node(id)
        guard directory.isDirectory else { throw .notdir }
        guard mayChangeLists(for: caller) else { throw .opnotsupp }
        try share.lock.withReadLock { () throws(Errno) in
            let directory = try loader.load(directory)
            try first.withCName { (name) throws(Errno) in try judge.permitLookup(name, in: directory, caller) }
        }
        var outcomes: [ListsAnswer.Outcome] = []
        let end = SystemTime.monotonic() + Self.longestRequest
        repeat {
            let names = request.names[outcomes.count...].prefix(Self.namesAtOnce)
            outcomes += changeLists(of: Array(names), in: directory, request.change, caller)
        } while outcomes.count < request.names.count && SystemTime.monotonic() < end
        listOutcomes.keep(ListsAnswer(token: request.token, outcomes: outcomes), of: .init(id, caller))
    }

    /// In nanoseconds. So long look-ups in the directory wait.
    private static let longestRequest: UInt64 = 2_000_000
    /// In nanoseconds. So long requests wait for the metadata lock.
    private static let longestTurn: UInt64 = 200_000
    private static let namesAtOnce = 16

    /// What came of the last request of this thread.
    /// - Throws: `nodata` if there was none, or long ago.
    func outcomesOfLists(in id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        guard let answer = listOutcomes.find(.init(id, caller)) else { throw .nodata }
        return answer.bytes
    }

    /// The kernel looks at what is mounted on the directory, and not at what is mounted on a file in it, perhaps to keep the caller from the
    /// file. The daemon knows the mounts of its own namespace only.
    ///
    /// In a view a file may have several nodes; on a shared file system each record is locked against other hosts. With `sync` each file is
    /// brought to the disk.
    private func mayChangeLists(for caller: Caller) -> Bool {
        guard loader.view == nil, !synchronous.coversWrites, !loader.tree.hasSharedFileSystem, kernel.areNoMountsBelow, caller.tid != 0
        else { return false }
        func namespace(_ process: String) -> FileStatus? {
            try? Syscall.statxAt(Syscall.workingDirectory, "/proc/\(process)/ns/mnt", flags: 0)
        }
        guard let own = namespace("self"), let callers = namespace("\(caller.tid)") else { return false }
        return (own.device, own.inode) == (callers.device, callers.inode)
    }

    private func changeLists(of names: [[UInt8]], in node: Node, _ change: ListChange, _ caller: Caller) -> [ListsAnswer.Outcome] {
        var outcomes = [ListsAnswer.Outcome](repeating: .left, count: names.count)
        // A file that stays as it is needs no lock that excludes decisions. The look-ups are kept for the changes.
        var objects: [BackingObject] = []
        defer { for object in objects { forgetUnlessKnown(object) } }
        var changing: [Int] = []
        inTurns(Array(names.indices), writing: false) { index in
            outcomes[index] = outcome(of: names[index]) { (name) throws(Errno) in
                guard let planned = try plan(name, in: loader.load(node), change, caller) else { return .left }
                objects.append(planned.file.object)
                guard case .same = planned.step else {
                    changing.append(index)
                    return .left
                }
                try planned.permit(judge, caller)
                return .same
            }
        }
        inTurns(changing, writing: true) { index in
            outcomes[index] = outcome(of: names[index]) { (name) throws(Errno) in
                guard let planned = try plan(name, in: loader.load(node), change, caller) else { return .left }
                try planned.permit(judge, caller)
                guard case .change(let list) = planned.step else { return .same }
                try changeACL(planned.file, to: list, caller)
                return .changed
            }
        }
        return outcomes
    }

    /// - Parameter writing: whether the metadata lock is held for writing.
    private func inTurns(_ indices: [Int], writing: Bool, _ body: (Int) -> Void) {
        var next = 0
        func turn() {
            let end = SystemTime.monotonic() + Self.longestTurn
            repeat {
                body(indices[next])
                next += 1
            } while next < indices.count && SystemTime.monotonic() < end
        }
        while next < indices.count {
            if writing { share.lock.withWriteLock { turn() } } else { share.lock.withReadLock { turn() } }
        }
    }

    /// - Parameter body: what it throws is found again, and told, by the request of the one file.
    private func outcome(of name: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> ListsAnswer.Outcome) -> ListsAnswer.Outcome {
        do throws(Errno) { return try name.withCName(body) } catch { return .left }
    }

    /// - Returns: nil if the name is not that of a plain file that this caller may change, or another request may be at work on it.
    private func plan(
        _ name: UnsafePointer<CChar>, in directory: ObjectState, _ change: ListChange, _ caller: Caller
    ) throws(Errno) -> PlannedList? {
        guard !directory.isOvermounted else { return nil }
        try require(.lookup, Operands(finding: name, in: directory), caller, directory, named: name)
        let readsDirectory = change == .inherit
        if readsDirectory { try require(.readACL, Operands(object: directory), caller, directory) }
        var file = try loader.child(name, of: directory)
        guard file.facts.kind == .file, file.status.nlink == 1, file.status.device == directory.status.device,
            file.status.mountID == directory.status.mountID, !share.held.isChanging(file.object.key),
            !share.writableFiles.isKnown(file.object.key)
        else { return nil }
        try require(.readACL, Operands(object: file), caller, file)
        let list: ACL?
        do { list = try change.list(of: .file, under: directory.facts.acl, over: file.facts.acl) } catch { return nil }
        file.node = loader.nodes.node(of: file.object)
        let isSame = list == file.facts.acl
        if !isSame { try require(.setACL(list), Operands(object: file), caller, file) }
        return PlannedList(
            directory: directory, name: name, file: file, step: isSame ? .same : .change(list), readsDirectory: readsDirectory)
    }

    /// Asks without counting what is allowed, because a plan may be made twice. A refusal is recorded as any.
    private func require(
        _ operation: Authorization.Operation, _ operands: borrowing Operands, _ caller: Caller, _ object: ObjectState,
        named name: UnsafePointer<CChar>? = nil
    ) throws(Errno) {
        if judge.decide(operation, operands, caller).isAllowed { return }
        try judge.permit(operation, operands, caller, about: object, named: name, in: name == nil ? nil : object.object)
    }

    /// Without a node no FORGET comes for the object.
    private func forgetUnlessKnown(_ object: BackingObject) {
        if loader.nodes.node(of: object) == nil, !kernel.deferRemovalCheck(of: object) { kernel.dropIfRemoved(object) }
    }
}

/// A file whose change was found allowed, by decisions that are not counted.
private struct PlannedList {
    enum Step {
        case same
        case change(ACL?)
    }
    let directory: ObjectState
    let name: UnsafePointer<CChar>
    let file: ObjectState
    let step: Step
    let readsDirectory: Bool

    /// Counts and records the decisions before the change, as the requests of one file would.
    func permit(_ judge: Judge, _ caller: Caller) throws(Errno) {
        try judge.permitLookup(name, in: directory, caller)
        if readsDirectory { try judge.permit(.readACL, Operands(object: directory), caller, about: directory) }
        try judge.permit(.readACL, Operands(object: file), caller, about: file)
    }
}

/// The answers to the last requests of some threads.
final class ListOutcomes: Sendable {
    /// The thread that asked, for one directory.
    struct Asker: Equatable, Sendable {
        let node: NodeID
        let uid: UInt32
        let tid: UInt32
        let payer: UInt32

        init(_ node: NodeID, _ caller: Caller) { (self.node, uid, tid, payer) = (node, caller.uid, caller.tid, caller.payer) }
    }
    private let kept = Lock<[(asker: Asker, answer: ListsAnswer)]>([])
    static let most = 64

    /// If there are many, the oldest of the user with the most answers goes.
    func keep(_ answer: ListsAnswer, of asker: Asker) {
        kept.withLock { kept in
            kept.removeAll { $0.asker == asker }
            kept.append((asker, answer))
            guard kept.count > Self.most else { return }
            var numbers: [UInt32: Int] = [:]
            for one in kept { numbers[one.asker.payer, default: 0] += 1 }
            let largest = numbers.values.max()
            if let oldest = kept.firstIndex(where: { numbers[$0.asker.payer] == largest }) { kept.remove(at: oldest) }
        }
    }

    func find(_ asker: Asker) -> ListsAnswer? { kept.withLock { $0.first { $0.asker == asker }?.answer } }
}
