import ACLFormats
import LinuxSystem
import ToolSupport

/// The walk of `aclfs backup list`: the topmost excluded objects below the operands, in the order of the file system. It keeps only the
/// directories above the present one (`TreeDescent`).
final class BackupList<Files: BackupFiles> {
    private typealias Descent = TreeDescent<Files, StreamedNames<Files>>

    private let files: Files
    private let reader: BackupReader<Files>
    private let arguments: BackupArguments
    private let sink: OutputSink
    private let workingDirectory: [UInt8]
    /// Whether the output is a terminal, on which names are escaped.
    private let isShown: Bool
    private var pending: [UInt8] = []
    private var exitStatus: Int32 = 0
    private var isStopped = false
    /// The real path of the operand.
    private var present: [UInt8] = []
    /// Offline: the layouts for the objects of the directory that the walk is in.
    private var layouts: (directory: [UInt8], declared: [LayoutAbove])?

    init(files: Files, arguments: BackupArguments, sink: OutputSink, workingDirectory: [UInt8], isShown: Bool) {
        (self.files, self.arguments, self.sink) = (files, arguments, sink)
        (self.workingDirectory, self.isShown) = (workingDirectory, isShown)
        reader = BackupReader(files: files, isOffline: arguments.isOffline)
    }

    func run() -> Int32 {
        for operand in arguments.paths where !isStopped { list(operand) }
        flush()
        return exitStatus
    }

    private func list(_ operand: [UInt8]) {
        guard let node = attempt(operand, { () throws(Errno) in try files.open(operand, followsLink: false) }),
            let status = attempt(operand, { () throws(Errno) in try files.status(of: node) })
        else { return }
        if arguments.format.isRelative, !status.isDirectory {
            return complain(operand, "not a directory; patterns for \(arguments.format.rawValue) are relative to one")
        }
        do throws(AttributeFailure) {
            if try reader.state(of: node).isExcluded {
                return emit(BackupListItem(operand: operand, below: []))
            }
        } catch { return complain(operand, error.flagsMessage) }
        if status.isDirectory {
            layouts = nil
            guard let path = attempt(operand, { () throws(Errno) in try files.absolutePath(of: node) }) else { return }
            present = path
            walk(node, operand, status)
        }
    }

    /// Offline: whether an object is excluded in the directory that the walk is in.
    private func isExcluded(
        _ node: Files.Node, _ name: [UInt8], _ status: ObjectStatus, _ descent: Descent
    ) throws(AttributeFailure) -> Bool {
        guard arguments.isOffline else { return try reader.isMarked(node) }
        let directory = descent.below.isEmpty ? present : joinedPath(present, descent.below)
        if layouts?.directory != directory {
            do {
                layouts = (directory, try reader.layouts(above: joinedPath(directory, name), on: status.device))
            } catch { throw .system(error) }
        }
        let path = joinedPath(directory, name)
        if layouts?.declared.contains(where: { $0.leavesOut(path) }) == true { return true }
        return try reader.isMarked(node)
    }

    private func walk(_ root: Files.Node, _ operand: [UInt8], _ status: ObjectStatus) {
        var descent = Descent(files, root, of: operand, followsLinks: false)
        descent.enter(root, named: [], status.identity, StreamedNames(files))
        descent.walk(fail: { complain($0, $1) }) { descent, name, directory in
            visit(name, in: directory, operand, device: status.device, &descent)
            return !isStopped
        }
    }

    private func visit(
        _ name: [UInt8], in directory: Files.Node, _ operand: [UInt8], device: UInt64, _ descent: inout Descent
    ) {
        do {
            let node = try files.open(name, in: directory, followsLink: false)
            let status = try files.status(of: node)
            // The walk stays on the operand's file system.
            guard status.device == device else { return }
            do throws(AttributeFailure) {
                // The path is made only for excluded objects: in a deep tree it is long.
                if try isExcluded(node, name, status, descent) {
                    return emit(BackupListItem(operand: operand, below: descent.below.isEmpty ? name : joinedPath(descent.below, name)))
                }
            } catch { complain(descent.path(of: name), error.flagsMessage) }
            if status.isDirectory { descent.enter(node, named: name, status.identity, StreamedNames(files)) }
        } catch {
            // ENOENT: removed since the directory was read.
            if error != .noent { complain(descent.path(of: name), error.text) }
        }
    }

    private func emit(_ item: BackupListItem) {
        guard
            let text = arguments.format.text(
                item, endsInNUL: arguments.endsInNUL, workingDirectory: workingDirectory)
        else {
            return complain(
                path(item),
                "no pattern of \(arguments.format.rawValue) matches this name alone, so it stays in the backup"
                    + (arguments.format == .lines
                        ? " (-0 would list it)"
                        : arguments.format == .rsync ? " (-0 would, with rsync's --from0)" : ""))
        }
        pending += isShown && text.last == UInt8(ascii: "\n") ? Array("\(escapedName(text.dropLast()))\n".utf8) : text
        if pending.count > 1 << 16 { flush() }
    }

    private func flush() {
        if !pending.isEmpty { sink.output(pending) }
        pending.removeAll(keepingCapacity: true)
        // The reader is gone. A list with a gap would be worse than none.
        if !sink.isOpen() { (isStopped, exitStatus) = (true, 1) }
    }

    private func path(_ item: BackupListItem) -> [UInt8] {
        item.below.isEmpty ? item.operand : joinedPath(item.operand, item.below)
    }

    private func attempt<Value>(_ path: [UInt8], _ body: () throws(Errno) -> Value) -> Value? {
        do { return try body() } catch {
            complain(path, error.text)
            return nil
        }
    }

    private func complain(_ path: [UInt8], _ reason: String) {
        exitStatus = 1
        sink.complain(path, reason)
    }
}
