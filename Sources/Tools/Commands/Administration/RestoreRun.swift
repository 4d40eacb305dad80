import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport
import WireFormats

/// One run of `aclfs restore`.
final class RestoreRun {
    private let tree: any ChangeableTree
    private let request: RestoreRequest
    private let extent: UndoExtent
    private let report: ChangeReport
    private let tools = TreeTools()

    /// - Parameter extent: of the undo file.
    init(_ tree: any ChangeableTree, _ request: RestoreRequest, _ extent: UndoExtent, _ sink: OutputSink) {
        (self.tree, self.request, self.extent) = (tree, request, extent)
        report = ChangeReport(
            sink, isJSON: request.json, isVerbose: request.isVerbose || request.isDryRun, prefix: request.source ?? tree.path,
            total: { extent.entries })
    }

    /// - Returns: the exit status.
    func run(_ reader: UndoFileReader) throws(CommandFailure) -> Int32 {
        let ending = Ending.bySignal
        ending.begin()
        do throws(UndoProblem) {
            // A run that was continued with another aim may have changed an object twice.
            try reader.forEachBackwards(extent) { entry in
                report.examine()
                restore(entry)
                return !ending.isAsked
            }
        } catch { throw CommandFailure(error.message) }
        if let signal = ending.signalName {
            report.warn("\(signal): restore is not complete\(request.isDryRun ? "" : "; run the same command again to complete it")")
        }
        report.summarize(request.isDryRun ? "would restore" : "restored")
        return report.isComplete && !ending.isAsked ? 0 : 1
    }

    private func restore(_ entry: UndoEntry, _ tries: ChangeTries = ChangeTries()) {
        let node: SharedDescriptor
        let status: FileStatus
        do throws(Errno) {
            node = try open(entry)
            status = try Syscall.statx(node.rawValue)
        } catch { return report.leave(entry.path, error.text) }
        guard TreeIdentity(status) == entry.identity, status.device == tree.status.device else {
            return report.leave(entry.path, "another object has this name now")
        }
        guard status.isDirectory || status.nlink <= entry.links || request.includesHardLinks else {
            return report.leave(entry.path, "has \(status.nlink) hard links, and had \(entry.links); --hard-links includes it")
        }
        var isChange = false
        do throws(AttributeFailure) {
            let present = try tree.state(of: node, status, owners: entry.before.owners != nil, flags: entry.before.flags != nil, tools)
            if present == entry.before { return }
            guard request.isForced || entry.isOnTheWay(present) else {
                return report.leave(entry.path, "it was changed since; --force restores it anyway")
            }
            // Who owned the file meanwhile, or could write it, would have a program that runs as another user. Those that it has belong to its
            // present owner.
            var wanted = entry.before
            let kept = present.hasOwners(of: wanted) ? present.mode : 0
            var lost = request.isForced || !status.isRegular ? 0 : wanted.mode & TreeState.setIDBits & ~kept
            wanted.mode &= ~lost
            isChange = true
            if wanted != present {
                if !request.isDryRun {
                    let left = try tree.change(node, from: present, to: wanted, status, setsID: request.isForced, tools)
                    wanted.mode &= ~left
                    lost |= left
                }
                report.note(
                    request.isDryRun ? "would restore" : "restored", entry.path, from: present, to: wanted,
                    isDirectory: status.isDirectory, nil)
            }
            if lost != 0 {
                report.leave(
                    entry.path,
                    request.isForced
                        ? "its set-id bits are not restored: a process has it open for writing, or it has another owner"
                        : "its set-id bits are not restored: others could have written it meanwhile; --force sets them")
            }
        } catch {
            var tries = tries
            if case .changedMeanwhile = error, tries.again() { return restore(entry, tries) }
            report.leave(entry.path) { tree.message(error, isChange: isChange, node, status, tools) }
        }
    }

    /// One name after the other, so that a path of any length is found.
    private func open(_ entry: UndoEntry) throws(Errno) -> SharedDescriptor {
        var node = tree.top
        for name in entry.names { node = try tools.files.open(name, in: node, followsLink: false) }
        return node
    }
}

extension UndoEntry {
    /// Whether a state is what the command left, complete or cut off between two of its calls; also one that a restore left.
    fileprivate func isOnTheWay(_ state: TreeState) -> Bool {
        modesOnTheWay.contains(state.mode) && isOnTheWay(state.owners) && isOnTheWay(state.store) && isOnTheWay(state.flags)
    }

    private var modesOnTheWay: [UInt16] {
        let both = before.mode & after.mode
        let modes = [before.mode, after.mode, both, both & ~0o070]
        return before.owners == nil ? modes : modes + modes.map { $0 & ~TreeState.setIDBits }
    }

    private func isOnTheWay(_ flags: FileFlags?) -> Bool {
        guard let flags, let old = before.flags else { return flags == nil && before.flags == nil }
        return [old, after.flags, old.subtracting(FileFlags.immutable.union(.appendOnly))].contains(flags)
    }

    private func isOnTheWay(_ owners: Owners?) -> Bool {
        guard let owners, let old = before.owners, let new = after.owners else { return owners == nil && before.owners == nil }
        return [old.uid, new.uid].contains(owners.uid) && [old.gid, new.gid].contains(owners.gid)
            && [nil, old.owner, new.owner].contains(owners.owner) && [nil, old.group, new.group].contains(owners.group)
    }

    private func isOnTheWay(_ store: TreeState.Store) -> Bool {
        guard case .backing(let present) = store, case .backing(let old) = before.store, case .backing(let new) = after.store else {
            return store == before.store || store == after.store
        }
        return [old.record, new.record].contains(present.record)
            && (present.access == nil || present.access == old.access || present.access == new.access
                || Self.hasSameNames(present.access, as: old.access))
            && [old.standard, new.standard].contains(present.standard)
    }

    /// A chmod on the way has changed owner, mask and others of the list.
    private static func hasSameNames(_ value: [UInt8]?, as other: [UInt8]?) -> Bool {
        func named(_ value: [UInt8]?) -> [PosixWireEntry]? {
            guard let value, let entries = try? PosixWire.entries(value.span.bytes) else { return nil }
            return entries.filter { $0.tag.isNamed || $0.tag == .owningGroup }
        }
        return named(value).map { $0 == named(other) } ?? false
    }
}
