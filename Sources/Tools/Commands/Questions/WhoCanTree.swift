import ACLFormats
import Identity
import LinuxSystem
import ToolSupport

/// `aclfs explain -R --who-can`: the users who may do something, for an object and all below it, as they are found. It keeps one level of
/// names for each directory, so that a tree may have any size. Symlinks are asked about and not followed.
final class WhoCanTree {
    /// The users to whom it is allowed on one object, or the reason why the daemon says none.
    typealias Question = ([[UInt8]]) throws(ControlError) -> [WhoCanRow]

    private let files = LinuxFiles()
    private let json: Bool
    private let ask: Question
    private var isAnyAllowed = false
    private var hasFailed = false

    /// - Parameter ask: asks about the object with these names from the mount's root.
    init(json: Bool, ask: @escaping Question) { (self.json, self.ask) = (json, ask) }

    /// - Returns: the exit status: 1 if no user may anywhere, or if some path failed.
    func run(_ operand: [UInt8], _ location: MountLocation) throws(ControlError) -> Int32 {
        // The question itself, before the walk: a wrong one fails once.
        try show(location, [])
        walk(operand, location)
        return isAnyAllowed && !hasFailed ? 0 : 1
    }

    private func walk(_ operand: [UInt8], _ location: MountLocation) {
        do throws(Errno) {
            let root = try files.open(operand, followsLink: false)
            let status = try files.status(of: root)
            guard status.isDirectory else { return }
            var descent = TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>(files, root, of: operand, followsLinks: false)
            descent.enter(root, named: [], status.identity, StreamedNames(files))
            descent.walk(fail: { complain($0, $1) }) { descent, name, directory in
                meet(name, in: directory, location, device: status.device, &descent)
                return StandardOutput.isOpen
            }
        } catch { complain(operand, files.message(error, of: .stat, on: nil, operand)) }
    }

    private func meet(
        _ name: [UInt8], in directory: SharedDescriptor, _ location: MountLocation, device: UInt64,
        _ descent: inout TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>
    ) {
        let path = descent.path(of: name)
        let below = descent.below.pathNames + [name]
        do throws(ControlError) { try show(location, below) } catch { complain(path, error.message) }
        do throws(Errno) {
            let node = try files.open(name, in: directory, followsLink: false)
            let status = try files.status(of: node)
            // Another file system has another daemon, or none.
            guard status.isDirectory, status.device == device else { return }
            // A list without a right is an error of its own, after the answer about the directory.
            _ = try Syscall.reopen(node.rawValue, OpenFlag.readOnly | OpenFlag.directory)
            descent.enter(node, named: name, status.identity, StreamedNames(files))
        } catch {
            complain(path, files.message(error, of: .openRead, on: nil, path))
        }
    }

    private func show(_ location: MountLocation, _ below: [[UInt8]]) throws(ControlError) {
        let location = MountLocation(location.entry, (location.names + below).joinedPath)
        let rows = try ask(location.names)
        if !rows.isEmpty { isAnyAllowed = true }
        let path = location.shown(location.names.count)
        if json { return printJSON(.object([JSON.path(path), .init("users", .array(rows.map(\.json)))])) }
        for line in Self.lines(path, rows) { printLine(line) }
    }

    /// One line for each rule, with the users whom it lets.
    static func lines(_ path: [UInt8], _ rows: [WhoCanRow]) -> [String] {
        let path = escapedName(path)
        if rows.isEmpty { return ["\(path)  -"] }
        var rules: [(rule: String, users: [String])] = []
        for row in rows {
            let rule = row.stage + (row.entry.map { " (\($0))" } ?? "")
            if let index = rules.firstIndex(where: { $0.rule == rule }) {
                rules[index].users.append(escapedName(row.name.utf8))
            } else {
                rules.append((rule, [escapedName(row.name.utf8)]))
            }
        }
        // The users last: there may be many.
        return ExplainTable.lines(rules.map { [path, $0.rule, $0.users.joined(separator: ",")] })
    }

    private func complain(_ path: [UInt8], _ reason: String) {
        hasFailed = true
        printError("aclfs: \(escapedName(path)): \(reason)")
    }
}
