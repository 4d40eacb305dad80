import ACLFormats
import Authorization
import LinuxSystem

/// `aclfs ls`: macOS' ls(1) as far as AUTHORIZATION.md 7.2 has it.
public func runLs(arguments: [[UInt8]], sink: OutputSink = .standard) -> Int32 {
    raiseDescriptorLimit()
    return runLs(
        arguments: arguments, sink: sink, files: LinuxFiles(), names: SystemNames(), clock: .system)
}

public func runLs<Files: ToolFiles>(
    arguments: [[UInt8]], sink: OutputSink, files: Files, names: some IdentityNames, clock: Clock
) -> Int32 {
    let parsed: LsArguments
    do {
        guard let known = try LsArguments.parse(arguments) else {
            sink.line(LsArguments.usage)
            return 0
        }
        parsed = known
    } catch {
        sink.complain("ls: \(error.message)\n\(LsArguments.usage)")
        return 1
    }
    let listing = Listing(arguments: parsed, sink: sink, files: files, names: names, clock: clock)
    return listing.run()
}

private final class Listing<Files: ToolFiles, Names: IdentityNames> {
    struct Item {
        var path: [UInt8]
        var shownName: [UInt8]
        var node: Files.Node
        var status: ObjectStatus
    }
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

    /// What is not a directory first, then each directory under its name.
    func run() -> Int32 {
        var items: [Item] = []
        var directories: [Item] = []
        for path in arguments.paths.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            guard let item = operand(path) else { continue }
            if item.status.isDirectory, !arguments.listsDirectories {
                directories.append(item)
            } else {
                items.append(item)
            }
        }
        print(items)
        let isNamed = arguments.paths.count > 1 || arguments.isRecursive
        for directory in directories { list(directory, isNamed: isNamed, ancestors: []) }
        return exitStatus
    }

    private func operand(_ path: [UInt8]) -> Item? {
        attempt(path) { () throws(Errno) in
            // The long form shows a link as what it is, the short form shows where it leads.
            let follows = arguments.followsAll || !arguments.isLong && !arguments.listsDirectories
            if follows, let node = try? files.open(path, followsLink: true) {
                return Item(path: path, shownName: path, node: node, status: try files.status(of: node))
            }
            let node = try files.open(path, followsLink: false)
            return Item(path: path, shownName: path, node: node, status: try files.status(of: node))
        }
    }

    private func list(_ directory: Item, isNamed: Bool, ancestors: Set<[UInt64]>) {
        guard var found = attempt(directory.path, { () throws(Errno) in try files.names(in: directory.node) })
        else { return }
        let dot = UInt8(ascii: ".")
        if arguments.names == .visible { found.removeAll { $0.first == dot } }
        if arguments.names == .all { found += [[dot], [dot, dot]] }
        if isNamed { sink.line((hasPrinted ? "\n" : "") + escapedName(directory.path) + ":") }
        hasPrinted = true
        var items: [Item] = []
        for name in found.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let path = joinedPath(directory.path, name)
            let item = attempt(path) { () throws(Errno) in
                // A link that leads nowhere is still there.
                if arguments.followsAll, let node = try? files.open(name, in: directory.node, followsLink: true) {
                    return Item(path: path, shownName: name, node: node, status: try files.status(of: node))
                }
                let node = try files.open(name, in: directory.node, followsLink: false)
                return Item(path: path, shownName: name, node: node, status: try files.status(of: node))
            }
            if let item { items.append(item) }
        }
        if arguments.isLong { sink.line("total \(items.reduce(0) { $0 + $1.status.blocks })") }
        print(items)
        guard arguments.isRecursive else { return }
        let path = ancestors.union([[directory.status.device, directory.status.inode]])
        for item in items where item.status.isDirectory && item.shownName != [dot] && item.shownName != [dot, dot] {
            if path.contains([item.status.device, item.status.inode]) {
                complain(item.path, Errno.loop.text)
            } else {
                list(item, isNamed: true, ancestors: path)
            }
        }
    }

    private func print(_ items: [Item]) {
        if !items.isEmpty { hasPrinted = true }
        guard arguments.isLong else {
            for item in items { sink.line(escapedName(item.shownName)) }
            return
        }
        let rows = items.map { row($0) }
        let widths = LongRow.widths(rows)
        for row in rows {
            sink.line(row.text(widths))
            for line in row.below { sink.line(line) }
        }
    }

    private func row(_ item: Item) -> LongRow {
        let status = item.status
        let acl =
            readable(item.path) { () throws(AttributeFailure) in try files.acl(of: item.node, names: names) } ?? nil
        let attributes = listableAttributes(of: item.node)
        var mark = " "
        if !(acl?.entries.isEmpty ?? true) { mark = "+" }
        // The mark of attributes hides that of an ACL (AUTHORIZATION.md 7.2).
        if !attributes.isEmpty { mark = "@" }
        var row = LongRow(mode: modeText(kind: status.kind, mode: status.mode) + mark)
        row.links = String(status.linkCount)
        row.owner = shownID(GUID(user: status.uid), status.uid)
        row.group = shownID(GUID(group: status.gid), status.gid)
        if arguments.showsFlags {
            let flags = readable(item.path) { () throws(AttributeFailure) in try files.flags(of: item.node) }
            row.flags = FileFlagsText.shown(flags ?? [])
        }
        row.size =
            status.kind == .characterDevice || status.kind == .blockDevice
            ? "\(status.specialDevice >> 32), \(status.specialDevice & 0xFFFF_FFFF)" : String(status.size)
        row.time = clock.shown(status.modifiedSeconds)
        row.name = escapedName(item.shownName)
        if status.kind == .symlink, let target = try? files.linkTarget(of: item.node) {
            row.name += " -> \(escapedName(target))"
        }
        if arguments.showsAttributes {
            for name in attributes {
                let size = ((try? files.attribute(name, of: item.node)) ?? nil)?.count ?? 0
                row.below.append("\t\(escapedName(name))\t\(size) ")
            }
        }
        if arguments.showsACL, let acl {
            row.below += ACLTextPrinter.lines(
                acl, isDirectory: status.isDirectory, names: names, numeric: arguments.isNumeric)
        }
        return row
    }

    private func shownID(_ identity: GUID, _ number: UInt32) -> String {
        if arguments.isNumeric { return String(number) }
        return names.name(of: identity).map { escapedName($0.name.utf8) } ?? String(number)
    }

    /// What a person attached, not what the system keeps: labels and the ACL itself have other places.
    private func listableAttributes(of node: Files.Node) -> [[UInt8]] {
        let all = (try? files.attributeNames(of: node)) ?? []
        return all.filter { !$0.starts(with: "system.".utf8) && !$0.starts(with: "security.".utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Other file systems have neither ACLs nor flags, and ls is used on them too.
    private func readable<Value>(
        _ path: [UInt8], _ body: () throws(AttributeFailure) -> Value
    ) -> Value? {
        do { return try body() } catch {
            if !error.isUnsupported { complain(path, error.message) }
            return nil
        }
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
