import ACLFormats
import Authorization
import LinuxSystem

/// One thread of a run.
final class ChangeWorker<Change: TreeChange> {
    private struct Pending {
        let object: MetObject
        /// Of the directory that the object lies in.
        let above: ACL?
        let before: TreeState
        let after: TreeState
        let list: ACL?
        /// Of the undo file; empty without one.
        let undoLine: [UInt8]
    }
    private typealias Descent = TreeDescent<LinuxFiles, LeftNames>

    private let run: ChangeRun<Change>
    private let tools = TreeTools()
    private let levels: Int
    /// nil: each object is changed by requests of its own.
    private let lists: ManyLists?
    private var batch: [Pending] = []
    private var examined = 0

    /// - Parameter levels: the number of levels that may be open, and of objects in a batch.
    init(_ run: ChangeRun<Change>, levels: Int) {
        (self.run, self.levels) = (run, levels)
        lists = run.listsAtOnce.map { [tools] in ManyLists(tools.files, $0, run.report) }
    }

    private var tree: any ChangeableTree { run.tree }
    private var report: ChangeReport { run.report }
    private var isImmediate: Bool { run.options.isDryRun || run.undo == nil && tree.isMounted }

    // MARK: The walk

    /// Examines the top.
    /// - Returns: the top as a directory to walk; nil: there is nothing below it.
    func begin(under list: ACL?) -> ChangeRun<Change>.Branch? {
        let top = MetObject(node: tree.top, path: UndoEntry.topPath, status: tree.status)
        var passed = run.options.scope == .below ? present(top) : examine(top, under: list)
        if !finishBatch() { passed = present(top) }
        flushCount()
        guard case .list(let own) = passed, run.options.scope != .top, top.status.isDirectory, !run.isStopped else { return nil }
        return .init(node: top.node, path: top.path, status: top.status, list: own)
    }

    /// Walks directories until there are no more.
    func walk(_ branches: Branches<ChangeRun<Change>.Branch>) {
        while let branch = branches.next() {
            walk(branch, branches)
            if run.isStopped { branches.stop() }
        }
        branches.leave(isWaiting: true)
    }

    private func walk(_ branch: ChangeRun<Change>.Branch, _ branches: Branches<ChangeRun<Change>.Branch>) {
        var descent = Descent(tools.files, branch.node, of: branch.path, followsLinks: false, levels: levels)
        descent.enter(branch.node, named: [], identity(branch.status), LeftNames(tools.files, self.lists))
        var lists = [branch.list]
        descent.walk(fail: { [report] path, reason in report.leave(Self.below(path), reason) }) { descent, name, directory in
            lists.removeLast(lists.count - descent.depth)
            return meet(name, in: directory, below: branch.path, &descent, &lists, branches)
        }
        finishBatch()
        flushCount()
    }

    /// - Returns: whether to go on.
    private func meet(
        _ name: [UInt8], in directory: SharedDescriptor, below top: [UInt8], _ descent: inout Descent, _ lists: inout [ACL?],
        _ branches: Branches<ChangeRun<Change>.Branch>
    ) -> Bool {
        let inside = descent.below.isEmpty ? name : joinedPath(descent.below, name)
        let path = top == UndoEntry.topPath ? inside : joinedPath(top, inside)
        do throws(Errno) {
            let node = try tools.files.open(name, in: directory, followsLink: false)
            let object = MetObject(node: node, path: path, status: try status(of: node), directory: directory)
            count()
            if run.undo?.isAt(object.status) == true { return true }
            var passed = examine(object, under: lists[lists.count - 1])
            guard object.status.isDirectory else { return !run.isStopped }
            // Before its contents are read: what is created from then on inherits the new list.
            if batch.last?.object.node === node { passed = finishBatch() ? passed : present(object) }
            guard !run.isStopped else { return false }
            guard case .list(let list) = passed else { return true }
            if branches.offer(.init(node: node, path: path, status: object.status, list: list)) { return true }
            descent.enter(node, named: name, identity(object.status), LeftNames(tools.files, self.lists))
            lists.append(list)
        } catch {
            switch error {
            // Removed since the directory was read.
            case .noent: break
            case .xdev: report.leave(path, "another file system is mounted here, and was not entered")
            default: report.leave(path, error.text)
            }
        }
        return true
    }

    /// On a mount the kernel has all but the time of birth from the listing. Only an undo file and objects with several names need that.
    private func status(of node: SharedDescriptor) throws(Errno) -> FileStatus {
        if run.undo == nil {
            let status = try Syscall.statx(node.rawValue, mask: StatMask.basic)
            if status.isDirectory || status.nlink <= 1 { return status }
        }
        return try Syscall.statx(node.rawValue)
    }

    private func identity(_ status: FileStatus) -> ObjectIdentity { ObjectIdentity(device: status.device, inode: status.inode) }

    /// A path as the descent has it, without the `./` of the top.
    private static func below(_ path: [UInt8]) -> [UInt8] {
        path.starts(with: UndoEntry.topPath + [UInt8(ascii: "/")]) ? Array(path.dropFirst(2)) : path
    }

    private func count() {
        examined += 1
        if examined == 64 { flushCount() }
    }

    private func flushCount() {
        if examined > 0 { report.examine(examined) }
        examined = 0
    }

    // MARK: Objects that the command finds by itself

    /// Examines an object, in place of a walk.
    func visit(_ object: MetObject) {
        count()
        _ = examine(object, under: nil)
    }

    /// Makes the last changes. Call once, after the last object.
    func finish() {
        finishBatch()
        flushCount()
    }

    // MARK: One object

    /// What a directory passes on to its contents.
    private enum Passed {
        case list(ACL?)
        /// The contents are not examined.
        case nothing
    }

    private func read(_ object: MetObject) throws(AttributeFailure) -> TreeState {
        try tree.state(
            of: object.node, object.status, owners: run.change.changesOwners, flags: run.change.changesFlags, tools)
    }

    /// The list that the object has now.
    private func present(_ object: MetObject) -> Passed {
        guard run.change.needsListAbove else { return .list(nil) }
        do throws(AttributeFailure) {
            return .list(try read(object).list())
        } catch {
            leave(object, .failure(error), isChange: false)
            return .nothing
        }
    }

    private func examine(_ object: MetObject, under list: ACL?) -> Passed {
        examine(object, under: list, isImmediate: isImmediate)
    }

    private func examine(_ object: MetObject, under list: ACL?, isImmediate: Bool) -> Passed {
        var tries = ChangeTries()
        while true {
            switch examineOnce(object, under: list, isImmediate: isImmediate) {
            case .done(let passed): return passed
            case .changedMeanwhile:
                if tries.again() { continue }
                leave(object, .failure(.changedMeanwhile), isChange: true)
                return present(object)
            }
        }
    }

    private enum Examined {
        case done(Passed)
        /// Another program did: it is to be examined again.
        case changedMeanwhile
    }

    private func examineOnce(_ object: MetObject, under list: ACL?, isImmediate: Bool) -> Examined {
        do throws(LeftObject) {
            let planned = try run.change.plan(object, under: list) { () throws(AttributeFailure) in try read(object) }
            defer { if let lacks = planned.lacks { report.leave(object.path, lacks) } }
            // Files are changed many at once, and would be named or not by chance.
            if planned.isProtected, object.status.isDirectory || run.options.scope == .top {
                report.keep(object.path, run.change.warningOfMark)
            }
            guard let states = planned.states, states.before != states.after else { return .done(.list(planned.list)) }
            guard object.path.count <= UndoEntry.longestPath || run.undo == nil else {
                throw .reason("its path has more than \(UndoEntry.longestPath) bytes, which an undo file cannot hold")
            }
            // The last of its names brings the change.
            guard run.options.includesHardLinks || run.links.hasMetAllNames(of: object, tools.files) else { return .done(.list(nil)) }
            let pending = Pending(
                object: object, above: list, before: states.before, after: states.after, list: planned.list,
                undoLine: try undoLine(object, states))
            if isImmediate {
                if run.options.isDryRun {
                    note("would change", pending)
                } else {
                    switch outcome(of: pending, isRead: true) {
                    case .changed: break
                    case .left: return .done(present(object))
                    case .changedMeanwhile: return .changedMeanwhile
                    }
                }
            } else if !isPending(pending) {
                return .done(present(object))
            }
            return .done(.list(planned.list))
        } catch {
            leave(object, error, isChange: false)
            return .done(run.change.needsListAbove && object.status.isDirectory ? .nothing : .list(nil))
        }
    }

    /// - Throws: no undo file can hold it.
    private func undoLine(_ object: MetObject, _ states: (before: TreeState, after: TreeState)) throws(LeftObject) -> [UInt8] {
        if run.undo == nil { return [] }
        let line = UndoEntry(
            path: object.path, identity: TreeIdentity(object.status), links: object.status.nlink, before: states.before, after: states.after
        ).line
        // Without its line feed.
        guard line.count - 1 <= UndoLines.longest else {
            throw .reason("its path and its lists need more than \(UndoLines.longest) bytes, which a line of an undo file cannot hold")
        }
        return line
    }

    /// Adds a change to the batch.
    /// - Returns: false if the batch was full and this change could not be made.
    private func isPending(_ pending: Pending) -> Bool {
        // By another of its names it is in the batch already.
        let identity = TreeIdentity(pending.object.status)
        if pending.object.status.nlink > 1, batch.contains(where: { TreeIdentity($0.object.status) == identity }) { return true }
        batch.append(pending)
        return batch.count < levels || finishBatch()
    }

    /// Makes the changes of the batch.
    /// - Returns: whether the last of them was made.
    @discardableResult
    private func finishBatch() -> Bool {
        defer { batch.removeAll(keepingCapacity: true) }
        if batch.isEmpty { return true }
        do throws(CommandFailure) {
            try tree.requireChangeable { report.warn($0) }
            if let undo = run.undo {
                let lines = batch.reduce(into: []) { $0 += $1.undoLine }
                do { try undo.append(lines) } catch { throw CommandFailure("the undo file cannot be written: \(error.text)") }
            }
        } catch {
            run.stop(error)
            return false
        }
        var isLastChanged = false
        for pending in batch {
            switch outcome(of: pending, isRead: false) {
            case .changed: isLastChanged = true
            case .left: isLastChanged = false
            case .changedMeanwhile:
                // Not as planned, so that a directory's list is read again.
                isLastChanged = false
                // The undo file has another state of it.
                if run.undo != nil {
                    report.leave(pending.object.path, Self.changedText)
                } else {
                    _ = examine(pending.object, under: pending.above, isImmediate: true)
                }
            }
        }
        return isLastChanged
    }

    private static var changedText: String { "another program changed it meanwhile; run the command again" }

    private enum Outcome {
        case changed
        /// With a message.
        case left
        /// By another program, so that the change was not made.
        case changedMeanwhile
    }

    /// Makes one change.
    /// - Parameter isRead: whether the old state was read just now.
    private func outcome(of pending: Pending, isRead: Bool) -> Outcome {
        let object = pending.object
        do throws(AttributeFailure) {
            var status = object.status
            if !isRead {
                do { status = try Syscall.statx(object.node.rawValue) } catch { throw .system(error) }
                let present = MetObject(node: object.node, path: object.path, status: status)
                guard (status.uid, status.gid, status.mode) == (object.status.uid, object.status.gid, object.status.mode),
                    run.options.includesHardLinks || status.nlink == object.status.nlink || status.isDirectory
                else {
                    report.leave(object.path, Self.changedText)
                    return .left
                }
                guard try read(present) == pending.before else { return .changedMeanwhile }
            }
            let left = try tree.change(object.node, from: pending.before, to: pending.after, status, setsID: run.change.setsID, tools)
            note("changed", pending, without: left)
            if left != 0 {
                report.leave(object.path, "its set-id bits are left out: others could have written it meanwhile; chmod sets them")
            }
            return .changed
        } catch {
            if case .changedMeanwhile = error { return .changedMeanwhile }
            leave(object, .failure(error), isChange: true)
            return .left
        }
    }

    private func note(_ verb: String, _ pending: Pending, without bits: UInt16 = 0) {
        var after = pending.after
        after.mode &= ~bits
        report.note(
            verb, pending.object.path, from: pending.before, to: after, isDirectory: pending.object.status.isDirectory, pending.list)
    }

    private func leave(_ object: MetObject, _ reason: LeftObject, isChange: Bool) {
        report.leave(object.path) {
            let text =
                switch reason {
                case .reason(let text): text
                case .failure(let failure): tree.message(failure, isChange: isChange, object.node, object.status, tools)
                }
            return run.change.needsListAbove && object.status.isDirectory && !isChange ? "\(text); what is below it stays as it is" : text
        }
    }
}
