import ACLFormats
import Authorization
import LinuxSystem
import Mounting
import ToolSupport

/// A command line of `aclfs acl import --posix`. Paths are bytes.
package struct PosixImportRequest {
    var source: [UInt8]
    var undoFile: [UInt8]?
    var isDryRun: Bool
    /// Also objects with names that the walk does not meet.
    var includesHardLinks: Bool
    var isVerbose: Bool
    var json: Bool
    /// `auto`, `trusted` or `user`, as the mount option.
    var metadata: String?

    package init(
        source: [UInt8], undoFile: [UInt8]?, isDryRun: Bool, includesHardLinks: Bool, isVerbose: Bool, json: Bool, metadata: String?
    ) {
        (self.source, self.undoFile, self.isDryRun, self.includesHardLinks) = (source, undoFile, isDryRun, includesHardLinks)
        (self.isVerbose, self.json, self.metadata) = (isVerbose, json, metadata)
    }

    fileprivate func recordName() throws(OfflineRefusal) -> String? {
        switch metadata {
        case nil, "auto": return nil
        case "trusted": return "trusted.aclfs"
        case "user": return "user.aclfs"
        case let word?: throw OfflineRefusal("--metadata: '\(escapedName(word.utf8))' is not one of auto, trusted and user")
        }
    }
}

/// `aclfs acl import --posix`: the POSIX ACLs of a backing directory become entries of the same meaning (docs/posix-acl.md "Import").
package enum PosixImport {
    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    package static func perform(_ request: PosixImportRequest, sink: OutputSink = .standard) -> Int32 {
        do throws(OfflineRefusal) {
            guard request.isDryRun != (request.undoFile != nil) else {
                throw OfflineRefusal(
                    request.isDryRun
                        ? "--dry-run changes nothing, so it writes no undo file: use one of the two"
                        : "name a new file with --undo-file, from which aclfs restore undoes the import, or look first with --dry-run")
            }
            let tree = try OfflineTree(request.source, recordName: try request.recordName(), sink)
            try tree.requireUnserved()
            return try PosixImportRun(tree, request, sink).run()
        } catch {
            sink.complain("acl import: \(error.message)")
            return 2
        }
    }
}

/// One run of an import.
private final class PosixImportRun {
    private struct Planned {
        let node: SharedDescriptor
        let path: [UInt8]
        let status: FileStatus
        let before: OfflineState
        let plan: PosixImportPlan
    }

    /// An object with several names, of which some were met.
    private struct Linked {
        var met: UInt32
        let count: UInt32
        let path: [UInt8]
    }

    private let tree: OfflineTree
    private let request: PosixImportRequest
    private let report: OfflineReport
    private let undo: UndoFileWriter?
    private let batchSize: Int
    private var batch: [Planned] = []
    private var linked: [OfflineIdentity: Linked] = [:]
    private var refusal: OfflineRefusal?

    init(_ tree: OfflineTree, _ request: PosixImportRequest, _ sink: OutputSink) throws(OfflineRefusal) {
        (self.tree, self.request) = (tree, request)
        report = OfflineReport(sink, isJSON: request.json, isVerbose: request.isVerbose || request.isDryRun)
        // Each needs a descriptor; the walk has twice as many levels.
        batchSize = LinuxFiles().openLevels
        if let path = request.undoFile {
            let header = UndoHeader(
                source: tree.path, identity: tree.identity, recordName: tree.files.recordName, command: "acl import --posix")
            do { undo = try UndoFileWriter(path, header) } catch {
                throw OfflineRefusal("\(escapedName(path)): \(error == .exist ? "exists already; name a new file" : error.text)")
            }
        } else {
            undo = nil
        }
    }

    func run() throws(OfflineRefusal) -> Int32 {
        warnOfReach()
        OfflineWalk(
            tree: tree,
            fail: { [self] path, reason in report.leave(path, reason) },
            visit: { [self] node, path, status in
                report.examine()
                if !status.isSymlink { examine(node, path, status) }
                return refusal == nil
            }
        ).run()
        if refusal == nil { changeBatch() }
        if let refusal {
            report.warn("\(refusal.message); the import stopped, and is complete only up to here")
            return 1
        }
        for link in linked.values.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            report.leave(link.path, "has \(link.count) names, \(link.met) of them below the directory; --hard-links includes it")
        }
        report.summarize(request.isDryRun ? "would change" : "changed")
        return report.left == 0 ? 0 : 1
    }

    /// From now on only the mode decides for callers who reach the directory past the mount.
    private func warnOfReach() {
        let path = String(decoding: tree.path, as: UTF8.self)
        let reach = SourceReach(source: path, mountpoint: "/proc/self/none")
        guard reach.isOpenToOthers else { return }
        report.warn("\(path) can be reached past a mount by \(reach.description): there the modes alone decide after the import")
    }

    private func examine(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus) {
        do throws(Errno) {
            // Nearly no object has one, so the record is not read first.
            var hasList = try tree.files.value(OfflineState.accessName, of: node) != nil
            if !hasList, status.isDirectory { hasList = try tree.files.value(OfflineState.standardName, of: node) != nil }
            guard hasList else { return }
            let before = try tree.files.state(of: node, status)
            do throws(PosixImportRefusal) {
                guard let plan = try PosixImportPlan(before, status, recordName: tree.files.recordName) else { return }
                if (try? tree.files.value(tree.otherRecordName, of: node)) != nil { throw .otherRecord(tree.otherRecordName) }
                guard path.count <= UndoEntry.longestPath else {
                    return report.leave(path, "its path has more than \(UndoEntry.longestPath) bytes, which an undo file cannot hold")
                }
                guard hasMetAllNames(of: status, path) else { return }
                add(Planned(node: node, path: path, status: status, before: before, plan: plan))
            } catch { report.leave(path, error.message) }
        } catch { report.leave(path, error.text) }
    }

    /// A name elsewhere would get the new list as well. Another user may have made the link for that.
    private func hasMetAllNames(of status: FileStatus, _ path: [UInt8]) -> Bool {
        if status.isDirectory || status.nlink == 1 || request.includesHardLinks { return true }
        let identity = OfflineIdentity(status)
        var link = linked[identity] ?? Linked(met: 0, count: status.nlink, path: path)
        link.met += 1
        linked[identity] = link.met >= status.nlink ? nil : link
        return link.met >= status.nlink
    }

    private func add(_ planned: Planned) {
        // By another of its names it is in the batch already.
        if planned.status.nlink > 1, batch.contains(where: { OfflineIdentity($0.status) == OfflineIdentity(planned.status) }) { return }
        batch.append(planned)
        if batch.count >= batchSize { changeBatch() }
    }

    private func changeBatch() {
        defer { batch.removeAll(keepingCapacity: true) }
        if batch.isEmpty { return }
        if let undo {
            do throws(OfflineRefusal) { try tree.requireUnserved() } catch {
                refusal = error
                return
            }
            let entries = batch.map {
                UndoEntry(
                    path: $0.path, identity: OfflineIdentity($0.status), links: $0.status.nlink, before: $0.before, after: $0.plan.after)
            }
            do { try undo.append(entries) } catch {
                refusal = OfflineRefusal("the undo file cannot be written: \(error.text)")
                return
            }
        }
        for planned in batch {
            if undo != nil, !isChanged(planned) { continue }
            report.note(
                undo == nil ? "would change" : "changed", planned.path, from: planned.before, to: planned.plan.after,
                isDirectory: planned.status.isDirectory, planned.plan.acl)
        }
    }

    /// - Returns: false, with a message, if the object stays as it is.
    private func isChanged(_ planned: Planned) -> Bool {
        do throws(Errno) {
            let status = try Syscall.statx(planned.node.rawValue)
            let owners = (status.uid, status.gid, status.mode)
            guard owners == (planned.status.uid, planned.status.gid, planned.status.mode),
                request.includesHardLinks || status.nlink == planned.status.nlink,
                try tree.files.state(of: planned.node, status) == planned.before
            else {
                report.leave(planned.path, "another program changed it during the import")
                return false
            }
            try tree.files.change(planned.node, from: planned.before, to: planned.plan.after, status)
            return true
        } catch {
            report.leave(planned.path, error == .nospc ? "\(error.text): its attributes have no room for the entries" : error.text)
            return false
        }
    }
}
