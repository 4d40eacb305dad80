import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs chmod`: macOS' chmod(1) with its exit codes (docs/reference/authorization.md 7.5, 7.6, Q9).
enum Chmod: ListedCommand {
    static let name = "aclfs chmod"
    static let summary = "change modes and lists of entries"
    static let example = "chmod +a \"bob allow read\" plans"
    static func run(_ words: [[UInt8]]) -> Int32 { runChmod(arguments: words) }
}

/// The same with other streams, for tests.
/// - Parameters:
///   - arguments: after the command's name.
///   - sink: the streams.
/// - Returns: the exit status.
package func runChmod(arguments: [[UInt8]], sink: OutputSink = .standard) -> Int32 {
    let umask = Syscall.umask(0o077)
    Syscall.umask(umask)
    return runChmod(
        arguments: arguments, sink: sink, files: LinuxFiles(), names: SystemNames(),
        umask: UInt16(truncatingIfNeeded: umask & 0o777))
}

/// The same with other files, names and umask, for tests.
package func runChmod<Files: ToolFiles>(
    arguments: [[UInt8]], sink: OutputSink, files: Files, names: some IdentityNames, umask: UInt16
) -> Int32 {
    let parsed: ChmodArguments
    do {
        guard let known = try ChmodArguments.parse(arguments) else {
            sink.lines(ChmodHelp.text)
            return 0
        }
        parsed = known
    } catch {
        sink.complain("chmod: \(error.message)", usage: ChmodArguments.usage)
        return 1
    }
    for warning in parsed.warnings { sink.complain("chmod: \(warning)") }
    let command = ChmodRun(arguments: parsed, sink: sink, files: files, umask: umask)
    return command.run(names: names)
}

private final class ChmodRun<Files: ToolFiles> {
    let arguments: ChmodArguments
    let sink: OutputSink
    let files: Files
    let umask: UInt16
    private var status: Int32 = 0
    /// Whether a device is a mount of aclfs.
    private var mounted: [UInt64: Bool] = [:]
    private var hasNotedKernel = false

    init(arguments: ChmodArguments, sink: OutputSink, files: Files, umask: UInt16) {
        (self.arguments, self.sink, self.files, self.umask) = (arguments, sink, files, umask)
    }

    private enum Task {
        case mode(ModeChange)
        case edit(ACLEdit)
        /// `=a` without an index: allowed only on an object without an ACL.
        case replaceWithoutIndex(ACE)
    }

    /// Parses all arguments before the first change: a wrong word changes no file.
    func run(names: some IdentityNames) -> Int32 {
        let onDirectories: Task
        let onOthers: Task
        do throws(UsageError) {
            let input = arguments.change == .whole(.fromInput) ? try self.input() : []
            onDirectories = try task(isDirectory: true, input, names: names)
            onOthers = try task(isDirectory: false, input, names: names)
        } catch {
            sink.complain("chmod: \(error.message)")
            return 1
        }
        TreeWalk(
            files: files, options: arguments.walk, fail: { self.refused($0, $1) },
            visit: { self.perform($2.isDirectory ? onDirectories : onOthers, on: $0, $1, $2, names: names) },
            needsStatus: arguments.change != .whole(.removeList)
        ).run(arguments.paths)
        return status
    }

    /// - Parameters:
    ///   - isDirectory: the kind of object that the task is for: sets of rights depend on it.
    ///   - input: standard input, for `-E`.
    private func task(isDirectory: Bool, _ input: [UInt8], names: some IdentityNames) throws(UsageError) -> Task {
        switch arguments.change {
        case .mode(let change): return .mode(change)
        case .add(let text, let index, let inherited):
            var new = try entries(text, isDirectory, names: names)
            if inherited { for position in new.indices { new[position].flags.insert(.inherited) } }
            return .edit(index.map { .insert(new, at: $0) } ?? .add(new))
        // A file may hold rights that only a directory's set names: it inherited them.
        case .subtract(let text): return .edit(.subtract(try entries(text, true, names: names)))
        case .remove(let index): return .edit(.remove(at: index))
        case .replace(let text, let index):
            let new = try entries(text, isDirectory, names: names)
            guard new.count == 1 else { throw UsageError("=a# takes one entry, not \(new.count)") }
            return index.map { .edit(.replace(new[0], at: $0)) } ?? .replaceWithoutIndex(new[0])
        case .whole(.fromInput):
            let list = try list(ofInput: input, isDirectory, names: names)
            return .edit(.replaceAll(list.entries, isProtected: list.isProtected))
        case .whole(.checkCanonical): return .edit(.checkCanonical)
        case .whole(.clearInherited): return .edit(.clearInherited)
        case .whole(.removeInherited): return .edit(.removeInherited)
        case .whole(.removeList): return .edit(.removeList)
        }
    }

    private func entries(_ text: [UInt8], _ isDirectory: Bool, names: some IdentityNames) throws(UsageError) -> [ACE] {
        do { return try ACLTextParser.parse(text, names: names, isDirectory: isDirectory) } catch {
            throw UsageError("'\(escapedName(text))': \(error.message)")
        }
    }

    /// Reads standard input, without the final newline.
    private func input() throws(UsageError) -> [UInt8] {
        guard var text = sink.input(), !text.isEmpty else { throw UsageError("-E: nothing to read on standard input") }
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        return text
    }

    /// The entries of standard input. No entry makes an empty list. Before them there may be the object's own line of `ls -le`, and one about
    /// the mark `no_inherit`.
    private func list(
        ofInput text: [UInt8], _ isDirectory: Bool, names: some IdentityNames
    ) throws(UsageError) -> (entries: [ACE], isProtected: Bool?) {
        // An empty line in its place keeps the numbers of lines.
        var lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if let line = lines.first, LongRow.begins(line) { lines[0] = [] }
        var isProtected: Bool?
        while let first = lines.firstIndex(where: { !$0.isEmpty }), ACLTextPrinter.isHeader(lines[first]) {
            guard let mark = ACLTextPrinter.isProtected(lines[first]) else {
                throw UsageError(
                    "standard input: line \(first + 1): '\(escapedName(Array(lines[first])))' is not the line '"
                        + ACLTextPrinter.protectedLine.dropFirst() + "'")
            }
            (isProtected, lines[first]) = (mark || isProtected == true, [])
        }
        if lines.allSatisfy(\.isEmpty) { return ([], isProtected) }
        do throws(ACLTextError) {
            let entries = try ACLTextParser.parse(
                Array(lines.joined(separator: [UInt8(ascii: "\n")])), names: names, isDirectory: isDirectory)
            return (entries, isProtected)
        } catch { throw UsageError("standard input: \(error.message)") }
    }

    /// - Returns: whether to go on with further files.
    private func perform(
        _ task: Task, on node: Files.Node, _ path: [UInt8], _ object: ObjectStatus, names: some IdentityNames
    ) -> Bool {
        switch task {
        case .mode(let change):
            setMode(change, of: node, path, object)
            return true
        case .edit(let edit): return self.edit(edit, node, path, object.kind, names: names)
        case .replaceWithoutIndex(let entry):
            return self.edit(.replace(entry, at: 0), onlyWithoutList: true, node, path, object.kind, names: names)
        }
    }

    private func isMounted(_ device: UInt64) -> Bool {
        if let known = mounted[device] { return known }
        let found = files.isMounted(device)
        mounted[device] = found
        return found
    }

    private func setMode(
        _ change: ModeChange, of node: Files.Node, _ path: [UInt8], _ object: ObjectStatus
    ) {
        if !arguments.isOffline, !arguments.isQuiet, !isMounted(object.device), !hasNotedKernel {
            hasNotedKernel = true
            sink.complain("chmod: note: \(escapedName(path)) is not on an aclfs mount: only the kernel enforces its mode")
        }
        let mode = change.applied(to: object.mode, isDirectory: object.isDirectory, umask: umask)
        let asked = change.applied(to: object.mode & ~ModeWriting.setIDBits, isDirectory: object.isDirectory, umask: umask)
        let left: UInt16
        // Also without a change: the file system decides whether it is allowed.
        do { left = try files.setMode(of: node, to: mode, asked: asked & ModeWriting.setIDBits, object) } catch {
            let isLink = error == .opnotsupp && object.kind == .symlink
            if isLink { return refused(path, "Linux has no mode for symlinks") }
            let text = files.message(error, of: .chmod, on: node, path)
            // `explain` asks about no bits, so its answer does not have this rule (docs/reference/authorization.md 6.1).
            let isSetGroup = text == Errno.perm.text && mode & 0o2000 != 0 && !object.isDirectory
            return refused(path, isSetGroup ? "\(text): set-gid on a file needs membership in its group" : text)
        }
        warnOfNoEffect(node, path, entries: false)
        if left != 0 {
            say(path, "its set-id bits are left out: others could have written it meanwhile; u+s and g+s set them")
        }
        if arguments.verbosity > 1 {
            let before = "0\(octal(UInt32(object.mode), width: 4)) [\(modeText(kind: object.kind, mode: object.mode))]"
            let after = "0\(octal(UInt32(mode & ~left), width: 4)) [\(modeText(kind: object.kind, mode: mode & ~left))]"
            sink.line("\(escapedName(path)): \(before) -> \(after)")
        } else if arguments.verbosity == 1 {
            sink.line(escapedName(path))
        }
    }

    private func edit(
        _ edit: ACLEdit, onlyWithoutList: Bool = false, _ node: Files.Node, _ path: [UInt8], _ kind: ObjectKind, names: some IdentityNames
    ) -> Bool {
        var tries = ChangeTries()
        while true {
            do throws(AttributeFailure) {
                return try makeEdit(edit, onlyWithoutList: onlyWithoutList, node, path, kind, names: names)
            } catch {
                if case .changedMeanwhile = error, tries.again() { continue }
                refused(path, files.message(error, of: .setacl, on: node, path, storedOn: kind))
                return true
            }
        }
    }

    /// - Throws: the list was not changed.
    /// - Returns: whether to go on with further files.
    private func makeEdit(
        _ edit: ACLEdit, onlyWithoutList: Bool, _ node: Files.Node, _ path: [UInt8], _ kind: ObjectKind, names: some IdentityNames
    ) throws(AttributeFailure) -> Bool {
        // Without reading the list: removal must work on one that this command cannot parse.
        if edit == .removeList {
            try files.setACL(of: node, to: nil)
            report(path)
            return true
        }
        let acl: ACL?
        do throws(AttributeFailure) { acl = try files.listToChange(of: node, names: names) } catch {
            refused(path, files.message(error, of: .stat, on: node, path))
            return true
        }
        if onlyWithoutList, acl?.entries.isEmpty == false {
            say(path, "there is an ACL; =a# needs the position of the entry to replace")
            return false
        }
        let result = edit.applied(to: acl)
        let isFatal = result.diagnostics.contains(where: \.isFatal)
        if !isFatal, result.acl != acl { try files.exchangeACL(of: node, from: acl, to: result.acl) }
        for diagnostic in result.diagnostics { say(path, diagnostic.message) }
        // As macOS' code has it, against its manual page: 1 if any file is canonical (docs/reference/authorization.md Q9).
        if let isCanonical = result.isCanonical {
            if isCanonical { status = 1 }
            if arguments.verbosity > 0 {
                sink.line("\(escapedName(path)): \(isCanonical ? "canonical" : "not canonical")")
            }
        }
        if isFatal { return false }
        if result.acl != acl { report(path) }
        if edit != .checkCanonical { warnOfNoEffect(node, path, entries: true) }
        return true
    }

    private func warnOfNoEffect(_ node: Files.Node, _ path: [UInt8], entries: Bool) {
        guard !arguments.isQuiet, let warning = files.warningOfNoEffect(on: node, path, entries: entries) else { return }
        sink.complain("chmod: warning: \(warning)")
    }

    private func report(_ path: [UInt8]) { if arguments.verbosity > 0 { sink.line(escapedName(path)) } }

    /// Reports a problem with one file, also with -f (docs/reference/authorization.md 7.6).
    private func say(_ path: [UInt8], _ reason: String) {
        status = 1
        sink.complain(path, reason)
    }

    /// Reports a refusal of the system. -f silences it, exit status included (docs/reference/authorization.md 7.6).
    private func refused(_ path: [UInt8], _ reason: @autoclosure () -> String) {
        if !arguments.isQuiet { say(path, reason()) }
    }
}
