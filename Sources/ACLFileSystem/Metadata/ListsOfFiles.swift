import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem

// `system.aclfs.lists` (docs/control.md "Lists of many files"). Each file is judged and changed as by a request of its own; whatever needs
// more than that is left to such a request. Setting an attribute is what a read-only mount refuses, and it holds the kernel's lock on the
// directory (docs/coherence.md R4).
extension MetadataChanges {
    /// Changes the lists of files in a directory.
    /// - Parameters:
    ///   - id: of the directory.
    ///   - value: a `ListsRequest`.
    /// - Throws: `inval` if it is none, `opnotsupp` where each file needs a request of its own, `notdir`.
    func changeLists(in id: NodeID, _ value: UnsafeRawBufferPointer, _ caller: Caller) throws(Errno) {
        guard let request = ListsRequest(reading: value) else { throw .inval }
        let directory = try loader.node(id)
        guard directory.isDirectory else { throw .notdir }
        // In a view a file may have several nodes; on a shared file system each record is locked against other hosts.
        if loader.view != nil || loader.tree.hasSharedFileSystem { throw .opnotsupp }
        var outcomes: [ListsAnswer.Outcome] = []
        while outcomes.count < request.names.count {
            let names = request.names[outcomes.count...].prefix(Self.namesInTurn)
            outcomes += changeLists(of: names, in: directory, request.change, caller)
        }
        listOutcomes.keep(ListsAnswer(token: request.token, outcomes: outcomes), of: .init(id, caller))
    }

    /// So many files are changed in one turn with the metadata lock, for which other requests wait some 200 microseconds.
    private static let namesInTurn = 8

    /// What came of the last request of this thread.
    /// - Throws: `nodata` if there was none, or long ago.
    func outcomesOfLists(in id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        guard let answer = listOutcomes.find(.init(id, caller)) else { throw .nodata }
        return answer.bytes
    }

    private func changeLists(
        of names: ArraySlice<[UInt8]>, in node: Node, _ change: ListChange, _ caller: Caller
    ) -> [ListsAnswer.Outcome] {
        // A file that stays as it is needs no lock that excludes decisions. The look-ups are kept for the changes.
        var objects: [BackingObject] = []
        defer { for object in objects { forgetUnlessKnown(object) } }
        var outcomes = share.lock.withReadLock {
            names.map { name in
                outcome(of: name) { (name) throws(Errno) in
                    guard let planned = try plan(name, in: loader.load(node), change, caller) else { return .left }
                    objects.append(planned.file.object)
                    guard case .same = planned.step else { return .changed }
                    try planned.permit(judge, caller)
                    return .same
                }
            }
        }
        guard outcomes.contains(.changed) else { return outcomes }
        share.lock.withWriteLock {
            for (index, name) in names.enumerated() where outcomes[index] == .changed {
                outcomes[index] = outcome(of: name) { (name) throws(Errno) in
                    guard let planned = try plan(name, in: loader.load(node), change, caller) else { return .left }
                    try planned.permit(judge, caller)
                    guard case .change(let list) = planned.step else { return .same }
                    try changeACL(planned.file, to: list, caller)
                    return .changed
                }
            }
        }
        return outcomes
    }

    /// - Parameter body: what it throws is found again, and told, by the request of the one file.
    private func outcome(
        of name: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> ListsAnswer.Outcome
    ) -> ListsAnswer.Outcome {
        do throws(Errno) { return try name.withCName(body) } catch { return .left }
    }

    /// - Returns: nil if the name is not that of a plain file that this caller may change, or another request may be at work on it.
    private func plan(
        _ name: UnsafePointer<CChar>, in directory: ObjectState, _ change: ListChange, _ caller: Caller
    ) throws(Errno) -> PlannedList? {
        guard !directory.isOvermounted, judge.decide(.lookup, Operands(finding: name, in: directory), caller).isAllowed else { return nil }
        let readsDirectory = change == .inherit
        if readsDirectory, !judge.decide(.readACL, Operands(object: directory), caller).isAllowed { return nil }
        var file = try loader.child(name, of: directory)
        guard file.facts.kind == .file, file.status.nlink == 1, file.status.device == directory.status.device,
            !share.held.isChanging(file.object.key), !share.writableFiles.isKnown(file.object.key),
            judge.decide(.readACL, Operands(object: file), caller).isAllowed
        else { return nil }
        let list: ACL?
        do { list = try change.list(of: .file, under: directory.facts.acl, over: file.facts.acl) } catch { return nil }
        file.node = loader.nodes.node(of: file.object)
        let isSame = list == file.facts.acl
        if !isSame, !judge.decide(.setACL(list), Operands(object: file), caller).isAllowed { return nil }
        return PlannedList(
            directory: directory, name: name, file: file, step: isSame ? .same : .change(list), readsDirectory: readsDirectory)
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
        try judge.permit(
            .lookup, Operands(finding: name, in: directory), caller, about: directory, named: name, in: directory.object)
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

        init(_ node: NodeID, _ caller: Caller) { (self.node, uid, tid) = (node, caller.uid, caller.tid) }
    }
    private let kept = Lock<[(asker: Asker, answer: ListsAnswer)]>([])
    private static let most = 64

    func keep(_ answer: ListsAnswer, of asker: Asker) {
        kept.withLock { kept in
            kept.removeAll { $0.asker == asker }
            if kept.count == Self.most { kept.removeFirst() }
            kept.append((asker, answer))
        }
    }

    func find(_ asker: Asker) -> ListsAnswer? { kept.withLock { $0.first { $0.asker == asker }?.answer } }
}
