import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

extension ParsedCommand {
    /// Changes the objects of a tree.
    /// - Parameters:
    ///   - operand: the top of the tree, as the user writes it.
    ///   - needsDirectory: whether another object is refused.
    ///   - body: makes the change for the tree, and runs it.
    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    func changeTree(
        _ operand: ByteWord, _ options: TreeOptions, needsDirectory: Bool = false,
        _ body: (TreeCommand, any ChangeableTree) throws(CommandFailure) -> Int32
    ) -> Int32 {
        let command = TreeCommand(self, options, operand)
        return command.perform(needsDirectory: needsDirectory) { (tree) throws(CommandFailure) in try body(command, tree) }
    }
}

/// One command that changes the objects of a tree: the tree, its undo file, the run, the summary.
struct TreeCommand {
    /// As the user writes it, after `aclfs`.
    let name: String
    let options: TreeOptions
    let operand: [UInt8]
    let sink: OutputSink
    private var ending: Ending { .bySignal }

    /// - Parameters:
    ///   - needsDirectory: whether another object is refused.
    ///   - body: makes the change for the tree, and runs it.
    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    func perform(needsDirectory: Bool, _ body: (any ChangeableTree) throws(CommandFailure) -> Int32) -> Int32 {
        do throws(CommandFailure) {
            try options.check()
            let tree = try self.tree(needsDirectory: needsDirectory)
            try tree.requireChangeable { sink.complain("warning: \($0)") }
            return try body(tree)
        } catch {
            sink.complain("\(name): \(error.message)")
            return 2
        }
    }

    func tree(needsDirectory: Bool) throws(CommandFailure) -> any ChangeableTree {
        if let tree = try MountedTree(operand) {
            if needsDirectory, !tree.status.isDirectory { throw CommandFailure("\(escapedName(operand)): \(Errno.notdir.text)") }
            if options.metadata != nil {
                throw CommandFailure("--metadata is for a backing directory; a mount knows where its entries are")
            }
            return tree
        }
        guard options.isOffline else { throw OfflineTree.refusalUnasked(operand) }
        return try OfflineTree(operand, recordName: try options.recordNameOffline(of: operand), needsDirectory: needsDirectory)
    }

    /// Runs a change.
    /// - Parameters:
    ///   - scope: which objects are changed.
    ///   - list: of the directory that the tree's top lies in.
    func run(
        _ tree: any ChangeableTree, _ change: some TreeChange, _ scope: ChangeOptions.Scope, under list: ACL? = nil,
        prefix: [UInt8]? = nil
    ) throws(CommandFailure) -> Int32 {
        try run(tree, change, scope, prefix: prefix) { (run) throws(CommandFailure) in try run.run(under: list) }
    }

    /// Runs a change over objects that `body` finds.
    func run<Change: TreeChange>(
        _ tree: any ChangeableTree, _ change: Change, _ scope: ChangeOptions.Scope, prefix: [UInt8]? = nil,
        _ body: (ChangeRun<Change>) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> Int32 {
        let undo = try undoFile(tree)
        let total = scope == .top ? nil : ObjectCount()
        let report = ChangeReport(
            sink, isJSON: options.json, isVerbose: options.isVerbose || options.isDryRun, prefix: prefix ?? operand,
            total: { total?.number })
        if report.showsProgress { total?.begin(tree.top) }
        let settings = ChangeOptions(
            scope: scope, isDryRun: options.isDryRun, includesHardLinks: options.includesHardLinks, workers: options.threads,
            ending: ending)
        ending.begin()
        do throws(CommandFailure) { try body(ChangeRun(tree, change, settings, report, undo)) } catch {
            report.warn("\(error.message); the command stopped, and is complete only up to here")
            return 1
        }
        if let signal = ending.signalName { report.warn("\(signal): \(name) is not complete\(advice)") }
        report.summarize(options.isDryRun ? "would change" : "changed")
        return report.isComplete && !ending.isAsked ? 0 : 1
    }

    /// How to go on after the command was ended.
    private var advice: String {
        if options.isDryRun { return "" }
        guard let path = options.undoFile else { return "; run the same command again to complete it" }
        let file = escapedName(path)
        return "; run the same command with --undo-file \(file) --resume to complete it, or aclfs restore \(file) to undo it"
    }

    private func undoFile(_ tree: any ChangeableTree) throws(CommandFailure) -> UndoFileWriter? {
        guard let path = options.undoFile else { return nil }
        if options.resumes { return try continuedFile(path, tree) }
        do { return try UndoFileWriter(path, tree.header(name)) } catch { throw CommandFailure("\(escapedName(path)): \(error.message)") }
    }

    private func continuedFile(_ path: [UInt8], _ tree: any ChangeableTree) throws(CommandFailure) -> UndoFileWriter {
        let shown = escapedName(path)
        let reader: UndoFileReader
        let extent: UndoExtent
        do throws(UndoProblem) {
            reader = try UndoFileReader(path)
            extent = try reader.extent()
        } catch { throw CommandFailure("\(shown): \(error.message)") }
        guard reader.header == tree.header(name) else {
            throw CommandFailure("\(shown) is the undo file of another command or directory; name the one of the run to resume")
        }
        do { return try UndoFileWriter(continuing: reader, end: extent.end) } catch { throw CommandFailure("\(shown): \(error.text)") }
    }
}

extension TreeCommand {
    /// - Parameter operand: the top of the tree, as the user writes it.
    init<Parsed: ParsedCommand>(_ command: Parsed, _ options: TreeOptions, _ operand: ByteWord) {
        self.init(
            name: Parsed.name.replacing("aclfs ", with: "", maxReplacements: 1), options: options, operand: operand.bytes,
            sink: command.sink)
    }
}
