import FuseSession
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// One operation, in one of its kinds.
struct FaultCase: Sendable, CustomTestStringConvertible {
    /// What may be left of an operation whose system calls fail, besides all of it or nothing.
    enum Between: Sendable {
        case nothing
        /// Each attribute of each object is as before or as afterwards, and nobody has a right that is neither. The text says where
        /// that is promised.
        case steps(_ promise: String)
        /// As `steps`, and the content of a file is what it was up to some byte, or what it is to be.
        case bytes(_ promise: String)
    }

    let name: String
    /// The kernel's requests that it stands for, as the methods of `RequestDispatch` are called.
    let requests: [String]
    var between = Between.nothing
    /// An object that the operation makes. If it can neither be finished nor removed, it is closed to all but root and whoever
    /// made it, and the next mount removes it (docs/internals/architecture.md I6, docs/decisions/0022-creation-notes.md).
    var makes: String?
    /// Errors that it answers besides the one that occurred and EIO, and why.
    var errors: [Errno] = []
    /// Whether an answer that lacks something is right; the text says why.
    var mayAnswerLess: String?
    /// What a handle that was there before has more afterwards; nil: nothing.
    var keeps: String?
    /// Where the backing directory lies.
    var parent = "/var/tmp"
    let prepare: @Sendable (FaultScene) throws -> Void
    let perform: @Sendable (FaultScene) throws(Errno) -> Void

    var testDescription: String { name }

    init(
        _ name: String, _ requests: String..., between: Between = .nothing, makes: String? = nil, errors: [Errno] = [],
        mayAnswerLess: String? = nil, keeps: String? = nil, parent: String = "/var/tmp",
        on prepare: @escaping @Sendable (FaultScene) throws -> Void = { _ in },
        _ perform: @escaping @Sendable (FaultScene) throws(Errno) -> Void
    ) {
        (self.name, self.requests, self.between, self.makes) = (name, requests, between, makes)
        (self.errors, self.mayAnswerLess, self.keeps, self.parent) = (errors, mayAnswerLess, keeps, parent)
        (self.prepare, self.perform) = (prepare, perform)
    }

    static let all: [FaultCase] = [findings, creations, names, attributes, extended, data, listings].flatMap { $0 }
}

/// How a case runs.
enum FaultMode: CaseIterable {
    /// With nothing in the caches of the tree.
    case cold
    /// What the operation is about is in the caches already.
    case warm
    /// As on a spare thread, which lets locks go around each act (docs/decisions/0020-held-files.md).
    case spare
}

/// One run of a case.
struct FaultRun {
    var result: Result<Void, Errno>
    var calls: [String]
    var failures: Int
    var answer: String
    var before: FaultSnapshot
    var state: FaultSnapshot
    var rightsBefore: FaultRights
    /// As the mount answers that served the operation, and as one that knows nothing but what is stored.
    var rights: (known: FaultRights, stored: FaultRights)
    /// What was left when all was given back that the operation gave.
    var left: FaultTree.Counts
    var busy: [String]
    /// An object that stayed half made, and whether the next mount left it.
    var isHealed: Bool?
}

extension FaultCase {
    func run(on tree: FaultTree, _ rule: Faults.Rule, _ mode: FaultMode) throws -> FaultRun {
        let scene = try tree.scene()
        try prepare(scene)
        scene.prepared()
        let fileSystem = tree.fileSystem
        let before = try FaultSnapshot(of: scene.path)
        let rightsBefore = FaultRights(of: before, in: scene.name, on: fileSystem)
        let counted = tree.counts()
        if mode == .warm { _ = FaultRights(of: before, in: scene.name, on: fileSystem) }
        let (result, faults) = Faults.with(rule) { () throws(Errno) in
            guard mode == .spare else { return try perform(scene) }
            let mark = ActMark(scene.keys.map { $0.key }, hasGates: true)
            try ThreadMark.with(mark) { () throws(Errno) in try perform(scene) }
        }
        fileSystem.mounts.share.writableFiles.filler.drain(milliseconds: 10_000)
        let state = try FaultSnapshot(of: scene.path)
        let known = FaultRights(of: state, in: scene.name, on: fileSystem)
        let stored = tree.storedRights(of: state, in: scene.name)
        scene.giveBack()
        let left = tree.counts() - counted
        var isHealed: Bool?
        if let makes, before.objects["./" + makes] == nil, state.objects["./" + makes] != nil, case .failure = result {
            try tree.heal()
            isHealed = try FaultSnapshot(of: scene.path).objects["./" + makes] == nil
        }
        let busy = scene.end()
        return FaultRun(
            result: result.mapError { $0.answered }, calls: faults.calls, failures: faults.failures, answer: scene.answer, before: before,
            state: state, rightsBefore: rightsBefore, rights: (known, stored), left: left, busy: busy, isHealed: isHealed)
    }

    /// - Parameters:
    ///   - clean: the same without a failure.
    ///   - isOver: all later calls failed, too.
    /// - Returns: what is wrong with a run in which calls failed.
    func problems(of run: FaultRun, error: Errno, clean: FaultRun, isOver: Bool) -> [String] {
        var problems: [String] = []
        func expect(_ holds: Bool, _ problem: @autoclosure () -> String) { if !holds { problems.append(problem()) } }
        let isAsAfter = run.state == clean.state
        let isAsBefore = run.state == run.before
        switch run.result {
        case .success:
            expect(isAsAfter, "answered success, but \(run.state.difference(from: clean.state))")
            expect(run.answer == clean.answer || mayAnswerLess != nil, "answered \(run.answer) instead of \(clean.answer)")
        case .failure(let answered):
            expect(answered == error || answered == .io || errors.contains(answered), "answered \(answered.name)")
            expect(makes == nil || isOver || !isAsAfter, "made it, and answered an error")
        }
        if !isAsAfter, !isAsBefore, case .failure = run.result {
            expect(
                isBetween(run, clean) || isOver && isClosedLeftover(run),
                "is neither as before nor as after: \(run.state.difference(from: run.before))")
        }
        expect(run.rights.known == run.rights.stored, "knows \(run.rights.known), stored is \(run.rights.stored)")
        expect(
            run.rights.stored.isSubset(of: [run.rightsBefore, clean.rights.stored]) || isClosedLeftover(run),
            "grants \(run.rights.stored)")
        expect(run.left == clean.left || run.left.isNothing, "leaves \(run.left), not \(clean.left)")
        expect(run.busy.isEmpty, "still busy: \(run.busy)")
        return problems
    }

    private func isClosedLeftover(_ run: FaultRun) -> Bool {
        guard let makes, let object = run.state.objects["./" + makes] else { return false }
        let isClosed =
            [0, FaultTree.owner.uid].contains(object.uid) && (object.mode & 0o77 == 0 || object.isSymlink)
            && object.size == run.before.sizeOfTarget(object)
        return isClosed && run.isHealed == true && run.state.isEqual(to: run.before, besides: makes)
    }

    private func isBetween(_ run: FaultRun, _ clean: FaultRun) -> Bool {
        switch between {
        case .nothing: return false
        case .steps: return run.state.isMixture(of: run.before, and: clean.state, contentIsWhole: true)
        case .bytes: return run.state.isMixture(of: run.before, and: clean.state, contentIsWhole: false)
        }
    }
}

extension FaultSnapshot {
    func sizeOfTarget(_ object: Object) -> UInt64 { object.isSymlink ? object.size : 0 }

    /// The same but for one object, and the number of names that its directory has for it.
    func isEqual(to other: FaultSnapshot, besides name: String) -> Bool {
        var (mine, theirs) = (objects, other.objects)
        mine["./" + name] = nil
        theirs["./" + name] = nil
        mine["."]?.links = theirs["."]?.links ?? 0
        return mine == theirs
    }

    func isMixture(of before: FaultSnapshot, and after: FaultSnapshot, contentIsWhole: Bool) -> Bool {
        guard Set(objects.keys) == Set(before.objects.keys) || Set(objects.keys) == Set(after.objects.keys) else { return false }
        for (name, object) in objects {
            let neighbours = [before.objects[name], after.objects[name]].compactMap { $0 }
            func isOne<Value: Equatable>(_ value: (Object) -> Value) -> Bool { neighbours.contains { value($0) == value(object) } }
            // Set-id bits go first.
            let isWithoutSetID = neighbours.contains { $0.mode & ~0o6000 == object.mode }
            // With a list that changes, a mode has what both have until the list is stored.
            let isCommon = neighbours.map(\.mode).reduce(.max, &) == object.mode
            // While a POSIX ACL of its own is replaced, an object that it closes to somebody is the owner's alone.
            let isOwners = neighbours.contains { $0.mode & ~0o077 == object.mode }
            guard isOne(\.mode) || isWithoutSetID || isCommon || isOwners else { return false }
            guard isOne(\.uid), isOne(\.gid), isOne(\.links), isOne(\.device), isOne(\.modified) else {
                return false
            }
            for attribute in Set(neighbours.flatMap(\.attributes.keys)).union(object.attributes.keys) {
                guard isOne({ $0.attributes[attribute] }) || isOwners && attribute == "system.posix_acl_access" else { return false }
            }
            if contentIsWhole {
                guard isOne(\.content), isOne(\.size) else { return false }
            } else {
                guard
                    object.content.indices.allSatisfy({ index in
                        neighbours.contains { index < $0.content.count && $0.content[index] == object.content[index] }
                    })
                else { return false }
            }
        }
        return true
    }
}
