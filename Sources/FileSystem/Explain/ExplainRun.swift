import ACLFormats
import Authorization
import BackingStore
import LinuxSystem

/// The work on one question: the walk to the object, the decision, and the record of both. It runs under the metadata lock; names of
/// accounts are looked up afterwards.
struct ExplainRun<C: Credential> {
    struct RawStep {
        var place: Explanation.Place
        var words: [String]
        var decision: Decision
        var entry: (ACE, isDirectory: Bool)?
        /// The deciding entry of a POSIX ACL, with its mask.
        var posix: (PosixACL.Entry, mask: UInt16)?
        /// The flags that deny.
        var flags: FileFlags?
        /// The rule of the sandbox, if the sandbox denies.
        var rule: String?
    }
    struct RawEntry {
        var place: Explanation.Place
        var index: Int
        var entry: ACE
        var effect: EntryEffect
        var isDirectory: Bool
    }

    let explainer: Explainer
    var credential: C
    private var steps: [RawStep] = []
    private var considered: [RawEntry] = []
    private var notes: [String] = []
    private var denial: String?
    /// Whether the subject may not search a directory of the path, or not for the next name.
    private(set) var isPathClosed = false
    var isClosedBySandbox: Bool {
        if isPathClosed, case .sandbox? = steps.last?.decision.stage { true } else { false }
    }
    /// A message for the user, if the walk itself fails.
    private(set) var failure: String?

    init(explainer: Explainer, credential: C) {
        (self.explainer, self.credential) = (explainer, credential)
    }

    mutating func judge(_ question: ExplainQuestion) throws(Errno) {
        let call = question.asked.call
        if call?.takesSecondPath == true, call == .rename, question.secondPath == nil {
            failure = "rename needs two paths, the old one and the new one"
            throw .inval
        }
        if question.path.isEmpty {
            if call?.creates == true || call == .rename {
                failure = "the root of a mount can be neither created nor renamed"
                throw .busy
            }
            return try judgeObject(question, top(), parent: nil)
        }
        guard let parent = try walkToParent(of: question.path, second: false) else { return }
        if let call, call.creates { return try judgeCreation(call, question, parent) }
        let object = try resolve(question.path.last ?? [], in: parent)
        if askGate(object, at: Explanation.Place(depth: question.path.count)) { return }
        try judgeObject(question, object, parent: parent)
    }

    private mutating func judgeCreation(_ call: OperationWord, _ question: ExplainQuestion, _ parent: ObjectState) throws(Errno) {
        if try childIfThere(question.path.last ?? [], in: parent) != nil {
            notes.append("the name exists already; judged as if it did not")
        }
        let creation = CreationRequest(
            kind: call == .mkdir ? .directory : .file, mode: FileMode(rawValue: call == .mkdir ? 0o777 : 0o666), umask: 0o022)
        let operands = try (question.path.last ?? []).withCName { (name) throws(Errno) in
            Operands(creating: creation.kind, name, in: parent)
        }
        ask(.create(creation), operands, [.parent: Explanation.Place(depth: question.path.count - 1)], word: call.rawValue)
    }

    private mutating func judgeObject(_ question: ExplainQuestion, _ object: ObjectState, parent: ObjectState?) throws(Errno) {
        let depth = question.path.count
        var places: [ObjectRole: Explanation.Place] = [.object: Explanation.Place(depth: depth)]
        if object.facts.kind == .symlink { notes.append("the object is a symbolic link: the link itself is judged, not what it leads to") }
        if object.facts.acl?.isProtected == true { notes.append(Explanation.inheritsNothing) }
        var operands = Operands(object: object)
        if question.asked.asksDirectory, let parent {
            operands = Operands(removing: object, from: parent)
            places[.parent] = Explanation.Place(depth: depth - 1)
        }
        let operation: Operation
        switch question.asked {
        case .right(let right): operation = .rights(right)
        case .call(let call):
            if call.takesSecondPath {
                guard let new = try resolveNewName(question, parent, &places) else { return }
                if let directory = new.directory {
                    operands = try new.name.withCName { (name) throws(Errno) in
                        guard call == .rename, let parent else { return Operands(linking: object, as: name, in: directory) }
                        return Operands(
                            moving: object, from: parent, to: name, in: directory, isSame: new.isSame,
                            replacing: new.target, exchanges: false)
                    }
                }
            }
            operation = self.operation(call, on: object.facts)
        }
        let word = question.asked.call?.rawValue
        ask(operation, operands, places, word: word ?? "")
    }

    /// The new name of a rename or link.
    private struct NewName {
        var directory: ObjectState?
        /// Both names are in one directory, which then has both roles.
        var isSame = false
        var name: [UInt8]
        var target: ObjectState?
    }

    /// Resolves the directory of the new name, and the object that has it already.
    /// - Returns: nil if the search on the path is denied.
    private mutating func resolveNewName(
        _ question: ExplainQuestion, _ parent: ObjectState?, _ places: inout [ObjectRole: Explanation.Place]
    ) throws(Errno) -> NewName? {
        guard let second = question.secondPath, let name = second.last else {
            places[.targetParent] = Explanation.Place(depth: max(question.path.count - 1, 0))
            return NewName(directory: parent, name: question.path.last ?? [])
        }
        guard let destination = try walkToParent(of: second, second: true, after: question.path) else { return nil }
        // With both names in one directory, the authorizer checks that directory once.
        var new = NewName(directory: destination, isSame: second.dropLast() == question.path.dropLast(), name: name)
        places[.targetParent] = Explanation.Place(isSecondPath: true, depth: second.count - 1)
        guard let target = try childIfThere(name, in: destination) else { return new }
        if question.asked.call == .link {
            notes.append("the new name exists already; judged as if it did not")
            return new
        }
        new.target = target
        places[.target] = Explanation.Place(isSecondPath: true, depth: second.count)
        return new
    }

    /// The operation with values that require exactly the rights that the word means.
    private func operation(_ call: OperationWord, on facts: ObjectFacts) -> Operation {
        switch call {
        case .openRead: facts.kind == .directory ? .list : .open(.read)
        case .openWrite: .open(.write)
        case .openAppend: .open([.write, .append])
        case .exec: .execute
        case .create, .mkdir, .rename: .rename
        case .unlink: .unlink
        case .rmdir: .removeDirectory
        case .link: .link
        // To the subject. If the subject is the owner, to another user.
        case .chown: .chown(uid: facts.owner == credential.uid ? facts.owner ^ 1 : credential.uid, gid: nil)
        case .chmod: .chmod(facts.mode.subtracting([.setUser, .setGroup]))
        case .chflags: .chflags(facts.flags.symmetricDifference(.hidden))
        case .setxattr: .setXattr(isProtected: false)
        case .getxattr: .getXattr
        case .listxattr: .listXattr
        case .stat: .stat
        case .readlink: .readLink
        case .truncate: .truncate
        case .utimes: .setTimes(access: .chosen, modification: .chosen)
        // Another list than the present one, which would require no right.
        case .setacl: .setACL(facts.acl == nil ? ACL([]) : nil)
        case .accessRead: .access(.read)
        case .accessWrite: .access(.write)
        case .accessExecute: .access(.execute)
        }
    }

    // MARK: The path

    /// Walks a path.
    /// - Returns: whether all its directories may be searched.
    mutating func walk(_ path: [[UInt8]]) -> Bool {
        do throws(Errno) { return try walkToParent(of: path, second: false) != nil } catch { return false }
    }

    private func top() throws(Errno) -> ObjectState {
        let root = explainer.loader.tree.root
        let descriptor = try explainer.loader.tree.descriptor(of: root)
        let status = try Syscall.statx(descriptor.rawValue)
        return ObjectState(
            object: root, descriptor: descriptor, status: status,
            facts: try explainer.loader.tree.facts(root, descriptor, status),
            location: explainer.loader.locationOfTop)
    }

    private func resolve(_ name: [UInt8], in directory: ObjectState) throws(Errno) -> ObjectState {
        try name.withCName { (name) throws(Errno) in try explainer.loader.child(name, of: directory) }
    }

    private func childIfThere(_ name: [UInt8], in directory: ObjectState) throws(Errno) -> ObjectState? {
        try name.withCName { (name) throws(Errno) in try explainer.loader.childIfThere(name, of: directory) }
    }

    /// Walks to the directory of the last name, and asks for search in each directory.
    /// - Parameter first: a path whose directories have been asked already.
    /// - Returns: nil if a search is denied.
    private mutating func walkToParent(of path: [[UInt8]], second: Bool, after first: [[UInt8]]? = nil) throws(Errno) -> ObjectState? {
        var current = try top()
        for depth in path.indices {
            if current.facts.kind == .symlink {
                failure =
                    "'\(escapedName(path[depth - 1]))' is a symbolic link, which is not followed here: ask about the path that it "
                    + "leads to"
                throw .loop
            }
            guard current.facts.kind == .directory else { throw .notdir }
            let isAsked = first.map { depth < $0.count && $0.prefix(depth) == path.prefix(depth) } ?? false
            // A sandbox may deny one name of a directory and allow another (docs/reference/sandbox-zones.md Z5).
            if !isAsked || first?[depth] != path[depth] {
                let place = Explanation.Place(isSecondPath: second, depth: depth)
                let directory = current
                let operands = try path[depth].withCName { (name) throws(Errno) in Operands(finding: name, in: directory) }
                guard ask(.lookup, operands, [.object: place], word: "search") else {
                    isPathClosed = true
                    // The directory may be searched, but not for this name (docs/reference/sandbox-zones.md Z5).
                    if case .sandbox? = steps.last?.decision.stage, directory.location.rights.contains(.search) {
                        let (denied, looked) = (denial, considered)
                        var refusal = steps.removeLast()
                        if !isAsked, !ask(.rights(.search), Operands(object: directory), [.object: place], word: "search") {
                            steps.removeLast()
                        }
                        refusal.place.depth = depth + 1
                        steps.append(refusal)
                        (denial, considered) = (denied, looked)
                    }
                    return nil
                }
                if isAsked { steps.removeLast() }
            }
            if depth == path.count - 1 { return current }
            current = try resolve(path[depth], in: current)
        }
        return current
    }

    /// Asks the gate in front of special files (docs/reference/security.md) and records the step.
    /// - Returns: whether the gate denies.
    private mutating func askGate(_ object: ObjectState, at place: Explanation.Place) -> Bool {
        guard let answer = explainer.judge.inquireFinding(object, by: credential) else { return false }
        steps.append(
            RawStep(
                place: place, words: rightWords(answer.rights, isDirectory: false), decision: answer.decision, entry: nil,
                rule: answer.rule))
        if let refusal = answer.decision.denial {
            denial = refusal.errno.name
            notes.append("only callers that may open a FIFO, a socket or a device can find it (mount option special=gate)")
        }
        return !answer.decision.isAllowed
    }

    // MARK: Asking

    /// Asks the authorizer about one operation and records what it examined.
    /// - Returns: whether the operation is allowed.
    @discardableResult
    private mutating func ask(
        _ operation: Operation, _ operands: Operands, _ places: [ObjectRole: Explanation.Place], word: String
    ) -> Bool {
        let facts = operands.facts
        let subject = credential
        let (decision, observer) = explainer.judge.inquire(operation, operands, RecordingObserver(), asksKernel: true) { _ in subject }
        func place(_ role: ObjectRole) -> Explanation.Place {
            // With both names in one directory, the directory of the old name has both roles.
            places[role] ?? places[role == .targetParent ? .parent : .object] ?? places.values.first
                ?? Explanation.Place(depth: 0)
        }
        let principal: ObjectRole = facts.object == nil ? .parent : .object
        considered = []
        var check: Check?
        var posix: (role: ObjectRole, entry: PosixACL.Entry, mask: UInt16)?
        for event in observer.events {
            switch event {
            case .check(let asked):
                check = asked
                considered = []
            case .entry(let role, let index, let entry, let effect):
                considered.append(
                    RawEntry(
                        place: place(role), index: index, entry: entry, effect: effect,
                        isDirectory: facts[role]?.kind == .directory))
            case .stage: break
            case .posixEntry(let role, let index):
                posix = facts[role].flatMap { object in object.posixACL.map { (role, $0.entries[index], object.mode.rawValue >> 3 & 7) } }
            case .decision(let decision):
                var role = check?.role ?? principal
                var rule: String?
                if case .sandbox(let refusing) = decision.stage {
                    rule = operands.rule(on: refusing)
                    // The sandbox denies before a check begins. A single right is always one on the object.
                    if case .rights(let right) = operation { check = Check(right, on: .object) } else { role = refusing }
                }
                let isDirectory = facts[role]?.kind == .directory
                var words = check.map { rightWords($0.rights, isDirectory: isDirectory) } ?? []
                if words.isEmpty { words = [word.isEmpty ? "-" : word] }
                steps.append(
                    RawStep(
                        place: place(role), words: words, decision: decision, entry: decidingEntry(decision, facts),
                        posix: posix.flatMap { decision.stage == .mode(.group, $0.role) ? ($0.entry, $0.mask) : nil },
                        flags: decidingFlags(decision, facts), rule: rule))
                noteUnreadable(decision, facts)
                (check, posix) = (nil, nil)
            }
        }
        denial = decision.denial?.errno.name
        if decision.denial?.errno == .acces, case .listXattr = operation { notes.append("the program gets an empty listing, and no error") }
        if denial != nil, let lack = credential.lack(decision.stage, operation, over: facts.object ?? facts.parent) {
            notes.append("\(lack): judged as any other user is (docs/reference/authorization.md 3.12)")
        }
        return decision.isAllowed
    }

    /// Notes an unreadable POSIX ACL. Without the note, the group bits of the mode would seem to deny.
    private mutating func noteUnreadable(_ decision: Decision, _ facts: FactsByRole) {
        guard case .mode(.group, let role) = decision.stage, facts[role]?.posixACL?.isUnreadable ?? false else { return }
        notes.append("the POSIX ACL of the backing object cannot be read: to all callers but the owner it grants nothing")
    }

    private func decidingEntry(_ decision: Decision, _ facts: FactsByRole) -> (ACE, isDirectory: Bool)? {
        guard case .entry(let role, let index) = decision.stage, let object = facts[role],
            let entries = object.acl?.entries, entries.indices.contains(index)
        else { return nil }
        return (entries[index], object.kind == .directory)
    }

    /// The flags that can deny a right, if flags deny.
    private func decidingFlags(_ decision: Decision, _ facts: FactsByRole) -> FileFlags? {
        guard case .flags(let role) = decision.stage, let object = facts[role] else { return nil }
        return object.flags.intersection(FileFlags.immutable.union(.appendOnly).union(.noUnlink))
    }

    func explanation(names: some IdentityNames) -> Explanation {
        var result = Explanation()
        func line(_ entry: ACE, _ isDirectory: Bool) -> String {
            ACLTextPrinter.line(entry, isDirectory: isDirectory, names: names)
        }
        result.steps = steps.map { step in
            Explanation.Step(
                place: step.place, words: step.words, isAllowed: step.decision.isAllowed, stage: step.decision.stage.name,
                entry: step.rule ?? step.entry.map { line($0.0, $0.isDirectory) }
                    ?? step.posix.map { "POSIX ACL \($0.0.text(names: names)), mask \(PosixACL.Entry.letters($0.mask))" }
                    ?? step.flags.map { FileFlagsText.shown($0) })
        }
        result.considered = considered.map { entry in
            Explanation.Considered(
                place: entry.place, index: entry.index, entry: line(entry.entry, entry.isDirectory),
                effect: entry.effect.shown(isDirectory: entry.isDirectory))
        }
        result.notes = notes
        result.denial = denial
        return result
    }
}
