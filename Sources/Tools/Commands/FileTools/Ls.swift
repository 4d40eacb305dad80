import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs ls`: the part of macOS' ls(1) that docs/reference/authorization.md 7.2 describes.
enum Ls: ListedCommand {
    static let name = "aclfs ls"
    static let summary = "list with entries, flags and attributes"
    static let example = "ls -le plans"
    static func run(_ words: [[UInt8]]) -> Int32 { runLs(arguments: words) }
}

/// The same with other streams, for tests.
/// - Parameters:
///   - arguments: after the command's name.
///   - sink: the streams.
/// - Returns: the exit status.
package func runLs(arguments: [[UInt8]], sink: OutputSink = .standard) -> Int32 {
    return runLs(
        arguments: arguments, sink: sink, files: LinuxFiles(), names: SystemNames(), clock: .system)
}

/// The same with other files, names and clock, for tests.
package func runLs<Files: ToolFiles>(
    arguments: [[UInt8]], sink: OutputSink, files: Files, names: some IdentityNames, clock: Clock
) -> Int32 {
    let parsed: LsArguments
    do {
        guard let known = try LsArguments.parse(arguments) else {
            sink.lines(LsHelp.text)
            return 0
        }
        parsed = known
    } catch {
        sink.complain("ls: \(error.message)", usage: LsArguments.usage)
        return 1
    }
    let listing = Listing(arguments: parsed, sink: sink, files: files, names: names, clock: clock)
    return listing.run()
}

private final class Listing<Files: ToolFiles, Names: IdentityNames> {
    /// An object to show. It holds no descriptor: a directory may have more objects than a process may open.
    struct Item {
        var shownName: [UInt8]
        var status: ObjectStatus
        /// Set in the long form.
        var row: LongRow?
    }
    private typealias Descent = TreeDescent<Files, SortedNames<Files.Node>>

    let arguments: LsArguments
    let sink: OutputSink
    let files: Files
    let names: Names
    let clock: Clock
    private var exitStatus: Int32 = 0
    private var hasPrinted = false

    init(arguments: LsArguments, sink: OutputSink, files: Files, names: Names, clock: Clock) {
        self.arguments = arguments
        self.sink = sink
        self.files = files
        self.names = names
        self.clock = clock
    }

    /// Lists the operands that are no directories, then each directory under its name.
    func run() -> Int32 {
        var items: [Item] = []
        var directories: [Item] = []
        for path in arguments.paths.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            guard let (node, status) = attempt(path, { () throws(Errno) in try open(operand: path) }) else { continue }
            if status.isDirectory, !arguments.listsDirectories {
                directories.append(Item(shownName: path, status: status))
            } else {
                items.append(item(node, path, shown: path, status))
            }
        }
        print(sorted(items))
        let isNamed = arguments.paths.count > 1 || arguments.isRecursive
        for directory in sorted(directories) { list(directory.shownName, isNamed: isNamed) }
        return exitStatus
    }

    private func open(operand path: [UInt8]) throws(Errno) -> (Files.Node, ObjectStatus) {
        // The long form shows a link itself, the short form its target.
        let follows = arguments.followsAll || !arguments.isLong && !arguments.listsDirectories
        if follows, let node = try? files.open(path, followsLink: true) { return (node, try files.status(of: node)) }
        let node = try files.open(path, followsLink: false)
        return (node, try files.status(of: node))
    }

    private func open(_ name: [UInt8], in directory: Files.Node) throws(Errno) -> (Files.Node, ObjectStatus) {
        // A link that leads nowhere is shown itself.
        if arguments.followsAll, let node = try? files.open(name, in: directory, followsLink: true) {
            return (node, try files.status(of: node))
        }
        let node = try files.open(name, in: directory, followsLink: false)
        return (node, try files.status(of: node))
    }

    /// Lists a directory and, with -R, those below it, each under its name.
    private func list(_ operand: [UInt8], isNamed: Bool) {
        guard let (root, status) = attempt(operand, { () throws(Errno) in try open(operand: operand) }) else { return }
        var descent = Descent(files, root, of: operand, followsLinks: arguments.followsAll)
        list(root, named: [], operand, status.identity, isNamed: isNamed, &descent)
        descent.walk(fail: { complain($0, $1) }) { descent, name, directory in
            let path = descent.path(of: name)
            guard let (node, status) = attempt(path, { () throws(Errno) in try open(name, in: directory) }) else { return true }
            if descent.contains(status.identity) {
                complain(path, Errno.loop.text)
            } else {
                list(node, named: name, path, status.identity, isNamed: true, &descent)
            }
            return true
        }
    }

    /// Lists one directory. The walk lists those below it.
    private func list(
        _ directory: Files.Node, named name: [UInt8], _ path: [UInt8], _ identity: ObjectIdentity, isNamed: Bool,
        _ descent: inout Descent
    ) {
        guard var found = attempt(path, { () throws(Errno) in try files.names(in: directory) }, as: .openRead, on: directory) else {
            return
        }
        let dot = UInt8(ascii: ".")
        if arguments.names == .visible { found.removeAll { $0.first == dot } }
        if arguments.names == .all { found += [[dot], [dot, dot]] }
        if isNamed {
            if hasPrinted { sink.line("") }
            sink.line(escapedName(path) + ":")
        }
        hasPrinted = true
        var items: [Item] = []
        for name in found.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let path = joinedPath(path, name)
            do throws(Errno) {
                let (node, status) = try open(name, in: directory)
                items.append(item(node, path, shown: name, status))
            } catch { complain(path, files.message(error, of: .stat, on: nil, path)) }
        }
        items = sorted(items)
        if arguments.isLong { sink.line("total \(items.reduce(0) { $0 + $1.status.blocks })") }
        print(items)
        guard arguments.isRecursive else { return }
        let below = items.filter { $0.status.isDirectory && $0.shownName != [dot] && $0.shownName != [dot, dot] }
        descent.enter(directory, named: name, identity, SortedNames(inOrder: below.map(\.shownName)))
    }

    /// The items in the order of -t, -S and -r. Those that are equal keep the order of their names.
    private func sorted(_ items: [Item]) -> [Item] {
        func precedes(_ left: Item, _ right: Item) -> Bool {
            switch arguments.order.key {
            case .name: false
            case .time: left.status.modified > right.status.modified
            case .size: left.status.size > right.status.size
            }
        }
        // The standard library's sort is stable in fact, not by contract.
        let ordered = items.enumerated().sorted { left, right in
            if precedes(left.element, right.element) { return true }
            return !precedes(right.element, left.element) && left.offset < right.offset
        }.map(\.element)
        return arguments.order.isReversed ? ordered.reversed() : ordered
    }

    private func item(_ node: Files.Node, _ path: [UInt8], shown name: [UInt8], _ status: ObjectStatus) -> Item {
        Item(shownName: name, status: status, row: arguments.isLong ? row(node, path, shown: name, status) : nil)
    }

    private func print(_ items: [Item]) {
        if !items.isEmpty { hasPrinted = true }
        guard arguments.isLong else {
            for item in items { sink.line(escapedName(item.shownName)) }
            return
        }
        let rows = items.compactMap(\.row)
        let widths = LongRow.widths(rows)
        for row in rows {
            sink.line(row.text(widths))
            for line in row.below { sink.line(line) }
        }
    }

    private func row(_ node: Files.Node, _ path: [UInt8], shown name: [UInt8], _ status: ObjectStatus) -> LongRow {
        let acl =
            readable(path, of: node) { () throws(AttributeFailure) in try files.acl(of: node, names: names) } ?? nil
        let attributes = listableAttributes(of: node)
        var mark = " "
        if let acl, !acl.entries.isEmpty || acl.isProtected { mark = "+" }
        // `@` takes precedence over `+` (docs/reference/authorization.md 7.2).
        if !attributes.isEmpty { mark = "@" }
        var row = LongRow(mode: modeText(kind: status.kind, mode: status.mode) + mark)
        row.links = String(status.linkCount)
        row.owner = shownOwner(of: node, status.uid)
        row.group = shownID(GUID(group: status.gid), status.gid)
        if arguments.showsFlags {
            let flags = readable(path, of: node) { () throws(AttributeFailure) in try files.flags(of: node) }
            row.flags = FileFlagsText.shown(flags ?? [])
        }
        row.size =
            status.kind == .characterDevice || status.kind == .blockDevice
            ? "\(status.specialDevice >> 32), \(status.specialDevice & 0xFFFF_FFFF)"
            : arguments.isHuman ? humanSize(status.size) : String(status.size)
        row.time = clock.shown(status.modified.sec)
        row.name = escapedName(name)
        if status.kind == .symlink, let target = try? files.linkTarget(of: node) {
            row.name += " -> \(escapedName(target))"
        }
        if arguments.showsAttributes {
            for name in attributes {
                let size = ((try? files.attribute(name, of: node)) ?? nil)?.count ?? 0
                row.below.append("\t\(escapedName(name))\t\(size) ")
            }
        }
        if arguments.showsACL, let acl {
            row.below += ACLTextPrinter.lines(
                acl, isDirectory: status.isDirectory, names: names, numeric: arguments.isNumeric)
        }
        return row
    }

    /// A group that owns the object has no uid: the attribute says which one it is.
    private func shownOwner(of node: Files.Node, _ uid: UInt32) -> String {
        guard uid == ObjectFacts.notAnID, !arguments.isNumeric, let value = try? files.attribute(ownerAttribute, of: node),
            let owner = GUID(uuidText: value), owner != GUID(user: uid)
        else { return shownID(GUID(user: uid), uid) }
        return displayedIdentity(owner, names: names)
    }

    private func shownID(_ identity: GUID, _ number: UInt32) -> String {
        if arguments.isNumeric { return String(number) }
        return names.name(of: identity).map { escapedName($0.name.utf8) } ?? String(number)
    }

    /// The attributes without those of the system, such as labels and the ACL itself.
    private func listableAttributes(of node: Files.Node) -> [[UInt8]] {
        let all = (try? files.attributeNames(of: node)) ?? []
        return all.filter { name in
            !name.starts(with: "system.".utf8) && !name.starts(with: "security.".utf8) && !Self.isList(name)
        }
        .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The list as an attribute for copies, in both spellings: ls shows the entries themselves.
    private static func isList(_ name: [UInt8]) -> Bool {
        name.elementsEqual("com.apple.acl.text".utf8) || name.elementsEqual("user.com.apple.acl.text".utf8)
    }

    /// nil also on other file systems, which have neither ACLs nor flags.
    private func readable<Value>(
        _ path: [UInt8], of node: Files.Node, _ body: () throws(AttributeFailure) -> Value
    ) -> Value? {
        do { return try body() } catch {
            if !error.isUnsupported { complain(path, files.message(error, of: .stat, on: node, path)) }
            return nil
        }
    }

    private func attempt<Value>(
        _ path: [UInt8], _ body: () throws(Errno) -> Value, as operation: OperationWord = .stat, on node: Files.Node? = nil
    ) -> Value? {
        do { return try body() } catch {
            complain(path, files.message(error, of: operation, on: node, path))
            return nil
        }
    }

    private func complain(_ path: [UInt8], _ reason: String) {
        exitStatus = 1
        sink.complain(path, reason)
    }
}
