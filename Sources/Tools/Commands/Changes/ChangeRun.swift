import Authorization
import LinuxSystem

/// What a command was told of all objects.
struct ChangeOptions: Sendable {
    enum Scope: Sendable {
        /// The object that the command names.
        case top
        /// All below it.
        case below
        case all
    }
    var scope: Scope
    var isDryRun: Bool
    /// Also objects with names that the walk does not meet.
    var includesHardLinks: Bool
    var workers: Int
    var ending: Ending
}

/// One run of a command over a tree: several workers walk it, each directory before its contents, and change what the command says.
///
/// With an undo file, and on a backing directory, changes are made in batches: what the file needs is on the disk before the first of them.
final class ChangeRun<Change: TreeChange>: Sendable {
    /// A directory that is walked by one worker.
    struct Branch: Sendable {
        let node: SharedDescriptor
        let path: [UInt8]
        let status: FileStatus
        let list: ACL?
    }

    let tree: any ChangeableTree
    let change: Change
    let options: ChangeOptions
    let report: ChangeReport
    let undo: UndoFileWriter?
    let links = HardLinks()
    private let refusal = Lock<CommandFailure?>(nil)

    /// - Parameter undo: where the old states are kept; nil: nowhere.
    init(_ tree: any ChangeableTree, _ change: Change, _ options: ChangeOptions, _ report: ChangeReport, _ undo: UndoFileWriter?) {
        (self.tree, self.change, self.options, self.report, self.undo) = (tree, change, options, report, undo)
    }

    /// - Parameter list: of the directory that the top lies in; nil: none, or it is not needed.
    /// - Throws: why the run stopped. It is complete only up to there.
    func run(under list: ACL? = nil) throws(CommandFailure) {
        let levels = LinuxFiles().openLevels
        // Each level of each worker needs two descriptors, each object of a batch one.
        let workers = max(1, min(options.workers, levels / 16))
        let worker = ChangeWorker(self, levels: max(1, levels / workers))
        if let branch = worker.begin(under: list) {
            let branches = Branches(workers: workers, first: branch)
            for _ in 1..<workers {
                do {
                    _ = try Thread.start(name: "aclfs-worker") { [self] in
                        ChangeWorker(self, levels: max(1, levels / workers)).walk(branches)
                    }
                } catch { branches.leave(isWaiting: false) }
            }
            worker.walk(branches)
            branches.join()
        }
        try finish()
    }

    /// Runs over the objects that `body` gives to one worker, in place of a walk.
    /// - Throws: why the run stopped.
    func run(_ body: (ChangeWorker<Change>) throws(CommandFailure) -> Void) throws(CommandFailure) {
        let worker = ChangeWorker(self, levels: LinuxFiles().openLevels)
        do throws(CommandFailure) { try body(worker) } catch { stop(error) }
        worker.finish()
        try finish()
    }

    private func finish() throws(CommandFailure) {
        if let refusal = refusal.withLock({ $0 }) { throw refusal }
        if options.ending.isAsked { return }
        for link in links.incomplete {
            report.leave(link.path, "has \(link.count) hard links, \(link.met) of them below the directory; --hard-links includes it")
        }
    }

    /// The change, if one request may make it for many files: there is nothing to write down before, or to say of each.
    var listsAtOnce: ListChange? {
        options.isDryRun || undo != nil || report.namesObjects || !tree.isMounted ? nil : change.listChange
    }

    var isStopped: Bool { options.ending.isAsked || refusal.withLock { $0 != nil } }

    /// All workers end.
    func stop(_ reason: CommandFailure) { refusal.withLock { if $0 == nil { $0 = reason } } }
}
