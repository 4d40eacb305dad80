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

/// `aclfs restore UNDOFILE`: restores what a command changed in a tree (docs/guide/administration.md "Undo files").
package enum Restore {
    /// - Returns: the exit status: 0, 1 if an object stays as it is, 2 if nothing is done.
    package static func perform(_ request: RestoreRequest, sink: OutputSink = .standard) -> Int32 {
        let name = escapedName(request.undoFile)
        do throws(TreeRefusal) {
            let reader: UndoFileReader
            let extent: UndoExtent
            do throws(UndoProblem) {
                reader = try UndoFileReader(request.undoFile)
                // All of it is read before the first change.
                extent = try reader.extent()
                if extent.isCut { sink.complain("\(name): the last line is incomplete: its change was not made") }
            } catch { throw TreeRefusal("\(name): \(error.message)") }
            let tree = try self.tree(reader.header, request.source)
            guard tree.identity == reader.header.identity else {
                throw TreeRefusal(
                    "\(escapedName(tree.path)) is not the directory of this undo file; if that was moved, give its present path")
            }
            try tree.requireChangeable { sink.complain("warning: \($0)") }
            return try RestoreRun(tree, request, extent, sink).run(reader)
        } catch {
            sink.complain("restore: \(error.message)")
            return 2
        }
    }

    private static func tree(_ header: UndoHeader, _ source: [UInt8]?) throws(TreeRefusal) -> any ChangeableTree {
        let path = source ?? header.source
        switch header.place {
        case .backing(let name):
            return try OfflineTree(path, followsLink: source != nil, recordName: name, needsDirectory: false)
        case .mount(let mounted):
            guard let tree = try MountedTree(path, followsLink: source != nil), tree.place == header.place else {
                throw TreeRefusal(
                    "\(escapedName(path)) does not lie on a mount of \(escapedName(Array(mounted.utf8))), where the changes were made")
            }
            return tree
        }
    }
}
