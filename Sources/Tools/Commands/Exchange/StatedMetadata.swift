import ACLFormats
import LinuxSystem

/// Gives objects of a tree what a source states of those with the same path.
struct StatedMetadata<Source: ExportSource> {
    let source: Source
    let change: ImportChange

    /// - Returns: the exit status.
    func give(to tree: any ChangeableTree, _ command: TreeCommand) throws(CommandFailure) -> Int32 {
        try command.run(tree, change, .all) { (run) throws(CommandFailure) in
            try run.run { (worker) throws(CommandFailure) in try visit(tree, run, worker) }
        }
    }

    private func visit(
        _ tree: any ChangeableTree, _ run: ChangeRun<ImportChange>, _ worker: ChangeWorker<ImportChange>
    ) throws(CommandFailure) {
        let files = LinuxFiles(staysBeneath: true)
        while !run.isStopped, let item = try source.next() {
            switch item {
            case .unread(let path, let reason): run.report.leave(path, "its metadata could not be read: \(reason)")
            case .object(let object):
                do throws(Errno) {
                    let node = try Self.open(object.path, tree, files)
                    var met = MetObject(node: node, path: object.path, status: try Syscall.statx(node.rawValue))
                    if met.status.nlink > 1, !met.status.isDirectory { met.directory = try Self.directory(of: object.path, tree, files) }
                    change.state(object)
                    worker.visit(met)
                } catch {
                    run.report.leave(
                        object.path, error == .xdev ? "another file system is mounted on the way, and was not entered" : error.text)
                }
            }
        }
    }

    private static func directory(
        of path: [UInt8], _ tree: any ChangeableTree, _ files: LinuxFiles
    ) throws(Errno) -> SharedDescriptor? {
        if path == ExportPath.top { return nil }
        guard let end = path.lastIndex(of: UInt8(ascii: "/")) else { return tree.top }
        return try open(Array(path[..<end]), tree, files)
    }

    /// No symlink, `..` or mount is on the way. A path of any length is found.
    private static func open(_ path: [UInt8], _ tree: any ChangeableTree, _ files: LinuxFiles) throws(Errno) -> SharedDescriptor {
        if path == ExportPath.top { return tree.top }
        if path.count < 4096 { return try files.open(path, in: tree.top, followsLink: false) }
        var node = tree.top
        for name in path.split(separator: UInt8(ascii: "/")) { node = try files.open(Array(name), in: node, followsLink: false) }
        return node
    }
}
