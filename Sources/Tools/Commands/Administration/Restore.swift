import ACLFormats
import ArgumentParser
import LinuxSystem
import ToolSupport
import WireFormats

/// What a restore is asked for. Paths are bytes.
struct RestoreRequest {
    var undoFile: [UInt8]
    /// nil: the directory that the undo file names.
    var source: [UInt8]?
    var isDryRun: Bool
    /// Also objects that were changed after the command that is undone.
    var isForced: Bool
    /// Also objects that have more hard links than at that time.
    var includesHardLinks: Bool
    var isVerbose: Bool
    var json: Bool
}

/// `aclfs restore UNDOFILE`: restores what a command changed in a tree (docs/guide/administration.md "Undo files").
struct Restore: ParsedCommand, ListedCommand {
    static let summary = "undo a command that wrote an undo file"
    static let example = "restore /srv/back/import.undo"
    static let configuration = CommandConfiguration(
        commandName: "aclfs restore", abstract: "Undoes a command on a tree: restores what its undo file holds.",
        usage: "aclfs restore [--dry-run] [--json] [--verbose] [--force] [--hard-links] FILE [SOURCE]")

    @Flag(help: "Print what would be restored, and change nothing.") var dryRun = false
    @Flag(help: "Also objects that were changed after the command, and set-id bits that files have lost.") var force = false
    @Flag(help: "Also objects that have more hard links than at that time.") var hardLinks = false
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is restored.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Argument(help: ArgumentHelp("The undo file.", valueName: "FILE")) var file: ByteWord
    @Argument(help: ArgumentHelp("The directory or object that the command named, if it was moved since.", valueName: "SOURCE")) var source:
        ByteWord?

    func perform() -> Int32 {
        Self.perform(
            RestoreRequest(
                undoFile: file.bytes, source: source?.bytes, isDryRun: dryRun, isForced: force, includesHardLinks: hardLinks,
                isVerbose: verbose, json: json), sink)
    }

    /// - Returns: the exit status: 0, 1 if an object stays as it is, 2 if nothing is done.
    static func perform(_ request: RestoreRequest, _ sink: OutputSink) -> Int32 {
        let name = escapedName(request.undoFile)
        do throws(CommandFailure) {
            let reader: UndoFileReader
            let extent: UndoExtent
            do throws(UndoProblem) {
                reader = try UndoFileReader(request.undoFile)
                // All of it is read before the first change.
                extent = try reader.extent()
                if extent.isCut { sink.complain("\(name): the last line is incomplete: its change was not made") }
            } catch { throw CommandFailure("\(name): \(error.message)") }
            let tree = try self.tree(reader.header, request.source)
            guard tree.identity == reader.header.identity else {
                throw CommandFailure(
                    "\(escapedName(tree.path)) is not the directory of this undo file; if that was moved, give its present path")
            }
            try tree.requireChangeable { sink.complain("warning: \($0)") }
            return try RestoreRun(tree, request, extent, sink).run(reader)
        } catch {
            sink.complain("restore: \(error.message)")
            return 2
        }
    }

    private static func tree(_ header: UndoHeader, _ source: [UInt8]?) throws(CommandFailure) -> any ChangeableTree {
        let path = source ?? header.source
        switch header.place {
        case .backing(let name):
            return try OfflineTree(path, followsLink: source != nil, recordName: name, needsDirectory: false)
        case .mount(let mounted):
            guard let tree = try MountedTree(path, followsLink: source != nil), tree.place == header.place else {
                throw CommandFailure(
                    "\(escapedName(path)) does not lie on a mount of \(escapedName(Array(mounted.utf8))), where the changes were made")
            }
            return tree
        }
    }
}
