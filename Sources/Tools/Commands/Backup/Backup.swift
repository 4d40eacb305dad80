import ACLFormats
import Glibc
import ToolSupport

/// `aclfs backup`: excludes objects from backups (docs/guide/backup.md).
enum Backup: ListedCommand {
    static let name = "aclfs backup"
    static let summary = "exclude objects from backups"
    static let example = "backup exclude build"
    static let takesWord = true

    static func run(_ words: [[UInt8]]) -> Int32 {
        runBackup(
            arguments: words, sink: .standard, files: LinuxFiles(), workingDirectory: workingDirectory(),
            isTerminal: isatty(STDOUT_FILENO) == 1)
    }

    /// The path that the shell shows, symlinks included, if it is correct. restic uses the same.
    private static func workingDirectory() -> [UInt8] {
        var (here, shown) = (stat(), stat())
        if let text = getenv("PWD"), text[0] == CChar(UInt8(ascii: "/")), stat(text, &shown) == 0, stat(".", &here) == 0,
            shown.st_dev == here.st_dev, shown.st_ino == here.st_ino
        {
            return bytes(text)
        }
        guard let text = getcwd(nil, 0) else { return [UInt8(ascii: "/")] }
        defer { free(text) }
        return bytes(text)
    }

    private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}

/// The same with other streams and files, for tests.
/// - Parameters:
///   - workingDirectory: the path that the shell shows.
///   - isTerminal: whether standard output is a terminal.
package func runBackup<Files: BackupFiles>(
    arguments: [[UInt8]], sink: OutputSink, files: Files, workingDirectory: [UInt8], isTerminal: Bool
) -> Int32 {
    let parsed: BackupArguments
    do {
        guard let known = try BackupArguments.parse(arguments) else {
            sink.lines(BackupArguments.help)
            return 0
        }
        parsed = known
    } catch {
        sink.complain("backup: \(error.message)", usage: BackupArguments.usage)
        return 2
    }
    if parsed.isOffline, geteuid() != 0 {
        sink.complain("backup: warning: only root can read what root's mounts have stored; this is what your own mounts have stored")
    }
    if parsed.verb == .list {
        return BackupList(
            files: files, arguments: parsed, sink: sink, workingDirectory: workingDirectory, isShown: isTerminal
        ).run()
    }
    let reader = BackupReader(files: files, isOffline: parsed.isOffline)
    var status: Int32 = 0
    var states: [JSON] = []
    func perform(_ path: [UInt8], _ node: Files.Node) throws(AttributeFailure) {
        switch parsed.verb {
        case .exclude: try files.excludeFromBackup(node)
        case .include:
            try files.includeInBackup(node)
            let state = try reader.state(of: node)
            if state.isExcludedItself {
                status = 1
                sink.complain(path, "still excluded by \(state.layoutInWords)")
            }
            if let parent = state.parents.first {
                status = 1
                sink.complain(path, "still excluded by its parent \(escapedName(parent))")
            }
        case .status:
            let state = try reader.state(of: node)
            if parsed.wantsJSON { states.append(state.json) } else { for line in state.lines { sink.line(line) } }
        case .layout:
            try files.declareLayout(parsed.layout, of: node)
            if let status = try? files.status(of: node), !files.isMounted(status.device) {
                sink.complain("backup: note: \(escapedName(path)) is not on an aclfs mount: the layout counts where a mount shows it")
            }
        case .list: break
        }
    }
    for path in parsed.paths {
        var node: Files.Node?
        do throws(AttributeFailure) {
            let opened: Files.Node
            // Backups store a link as an object of its own.
            do { opened = try files.open(path, followsLink: false) } catch { throw .system(error) }
            node = opened
            try perform(path, opened)
        } catch {
            status = 1
            let isChange = node != nil && parsed.verb != .status
            let message = files.message(error, of: isChange ? .setxattr : .stat, on: node, path)
            let isOfMount = error.isUnsupported && parsed.verb != .layout
            sink.complain(path, isOfMount ? error.flagsMessage : message)
        }
    }
    if parsed.wantsJSON { sink.output(JSONText.write(.array(states)) + [UInt8(ascii: "\n")]) }
    return status
}
