import ACLFormats
import LinuxSystem
import ToolSupport
import WireFormats

/// A command line of `aclfs restore`. Paths are bytes.
package struct RestoreRequest {
    var undoFile: [UInt8]
    /// nil: the directory that the undo file names.
    var source: [UInt8]?
    var isDryRun: Bool
    /// Also objects that were changed after the command that is undone.
    var isForced: Bool
    /// Also objects that have more names than then.
    var includesHardLinks: Bool
    var isVerbose: Bool
    var json: Bool

    package init(
        undoFile: [UInt8], source: [UInt8]?, isDryRun: Bool, isForced: Bool, includesHardLinks: Bool, isVerbose: Bool, json: Bool
    ) {
        (self.undoFile, self.source, self.isDryRun, self.isForced) = (undoFile, source, isDryRun, isForced)
        (self.includesHardLinks, self.isVerbose, self.json) = (includesHardLinks, isVerbose, json)
    }
}

/// `aclfs restore UNDOFILE`: restores what an offline command changed (docs/posix-acl.md "Undo files").
package enum Restore {
    /// - Returns: the exit status: 0, 1 if an object stays as it is, 2 if nothing is done.
    package static func perform(_ request: RestoreRequest, sink: OutputSink = .standard) -> Int32 {
        let name = escapedName(request.undoFile)
        do throws(OfflineRefusal) {
            let reader: UndoFileReader
            let tree: OfflineTree
            do throws(UndoProblem) {
                reader = try UndoFileReader(request.undoFile)
                // All of it is read before the first change.
                if try reader.forEach({ _ in true }) { sink.complain("\(name): the last line is cut: its change was not made") }
            } catch { throw OfflineRefusal("\(name): \(error.message)") }
            tree = try OfflineTree(
                request.source ?? reader.header.source, followsLink: request.source != nil, recordName: reader.header.recordName, sink)
            guard tree.identity == reader.header.identity else {
                throw OfflineRefusal(
                    "\(escapedName(tree.path)) is not the directory of this undo file; if that was moved, name its present path")
            }
            try tree.requireUnserved()
            return try RestoreRun(tree, request, sink).run(reader)
        } catch {
            sink.complain("restore: \(error.message)")
            return 2
        }
    }
}

/// One run of `aclfs restore`.
private final class RestoreRun {
    private let tree: OfflineTree
    private let request: RestoreRequest
    private let report: OfflineReport
    private let files = LinuxFiles(staysBeneath: true)

    init(_ tree: OfflineTree, _ request: RestoreRequest, _ sink: OutputSink) {
        (self.tree, self.request) = (tree, request)
        report = OfflineReport(sink, isJSON: request.json, isVerbose: request.isVerbose || request.isDryRun)
    }

    func run(_ reader: UndoFileReader) throws(OfflineRefusal) -> Int32 {
        do throws(UndoProblem) {
            _ = try reader.forEach { entry in
                report.examine()
                restore(entry)
                return true
            }
        } catch { throw OfflineRefusal(error.message) }
        report.summarize(request.isDryRun ? "would restore" : "restored")
        return report.left == 0 ? 0 : 1
    }

    private func restore(_ entry: UndoEntry) {
        do throws(Errno) {
            let node = try open(entry)
            let status = try Syscall.statx(node.rawValue)
            guard OfflineIdentity(status) == entry.identity, status.device == tree.status.device, !status.isSymlink else {
                return report.leave(entry.path, "another object has this name now")
            }
            guard status.isDirectory || status.nlink <= entry.links || request.includesHardLinks else {
                return report.leave(entry.path, "has \(status.nlink) names, and had \(entry.links); --hard-links includes it")
            }
            let present = try tree.files.state(of: node, status)
            if present == entry.before { return }
            guard request.isForced || entry.isOnTheWay(present) else {
                return report.leave(entry.path, "it was changed since; --force restores it all the same")
            }
            if !request.isDryRun { try tree.files.change(node, from: present, to: entry.before, status) }
            report.note(
                request.isDryRun ? "would restore" : "restored", entry.path, from: present, to: entry.before,
                isDirectory: status.isDirectory, nil)
        } catch { report.leave(entry.path, error.text) }
    }

    /// One name after the other, so that a path of any length is found.
    private func open(_ entry: UndoEntry) throws(Errno) -> SharedDescriptor {
        var node = tree.top
        for name in entry.names { node = try files.open(name, in: node, followsLink: false) }
        return node
    }
}

extension UndoEntry {
    /// Whether a state is what the command left, complete or cut off between two of its calls; also one that a restore left.
    fileprivate func isOnTheWay(_ state: OfflineState) -> Bool {
        let both = before.mode & after.mode
        return [before.mode, after.mode, both, both & ~0o070].contains(state.mode)
            && [before.record, after.record].contains(state.record)
            && (state.access == nil || state.access == before.access || state.access == after.access || hasSameNames(state.access))
            && [before.standard, after.standard].contains(state.standard)
    }

    /// A chmod on the way has changed owner, mask and others of the list.
    private func hasSameNames(_ value: [UInt8]?) -> Bool {
        func named(_ value: [UInt8]?) -> [PosixWireEntry]? {
            guard let value, let entries = try? PosixWire.entries(value.span.bytes) else { return nil }
            return entries.filter { $0.tag.isNamed || $0.tag == .owningGroup }
        }
        return named(value).map { $0 == named(before.access) } ?? false
    }
}
