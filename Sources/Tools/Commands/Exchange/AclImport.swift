import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// A command line of `aclfs acl import`, without `--posix`. Paths are bytes.
package struct AclImportRequest {
    var export: [UInt8]
    /// `OLD=NEW` each.
    var users: [String]
    var groups: [String]
    /// A file with such lines.
    var map: [UInt8]?
    /// `refuse` or `keep`.
    var unknown: String?
    var isNumeric: Bool
    /// Properties that are not changed, with commas between.
    var ignored: String?
    /// Whether files get set-id bits that they do not have.
    var setsID: Bool

    package init(
        export: [UInt8], users: [String], groups: [String], map: [UInt8]?, unknown: String?, isNumeric: Bool, ignored: String?, setsID: Bool
    ) {
        (self.export, self.users, self.groups, self.map) = (export, users, groups, map)
        (self.unknown, self.isNumeric, self.ignored, self.setsID) = (unknown, isNumeric, ignored, setsID)
    }

    fileprivate func mapping(_ host: SystemNames) throws(ExportFailure) -> IdentityMapping {
        guard let unknown = IdentityMapping.Unknown(rawValue: self.unknown ?? "refuse") else {
            throw ExportFailure("--unknown: '\(escapedName((self.unknown ?? "").utf8))' is neither refuse nor keep")
        }
        var mapping = IdentityMapping(unknown: unknown, isNumeric: isNumeric)
        for word in users {
            do { try mapping.add(word, kind: .user, host: host) } catch { throw ExportFailure("--map-user: \(error.message)") }
        }
        for word in groups {
            do { try mapping.add(word, kind: .group, host: host) } catch { throw ExportFailure("--map-group: \(error.message)") }
        }
        guard let map else { return mapping }
        do throws(ExportFailure) {
            let file = try FileSource.open(map)
            let text: [UInt8]
            do { text = try Syscall.readAll(file.rawValue, limit: 1 << 24) } catch { throw ExportFailure(error.text) }
            try mapping.add(lines: text, host: host)
        } catch { throw ExportFailure("\(escapedName(map)): \(error.message)") }
        return mapping
    }
}

/// `aclfs acl import` and `aclfs acl copy`: objects get the metadata that an export, or another tree, states (docs/guide/export.md "Importing").
package enum AclImport {
    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    package static func perform(
        _ request: AclImportRequest, into path: [UInt8], _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        let command = TreeCommand(name: "acl import", options: options, operand: path, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(TreeRefusal) in
            do throws(ExportFailure) {
                let ignored = try ExportProperty.set(ofIgnored: request.ignored, known: ExportProperty.changeable)
                let host = SystemNames()
                let file = try StableFile(request.export)
                let identities = try examine(file, try request.mapping(host), ignored, host, sink)
                let source = try FileSource(file.name, file.open(), takesListings: false) { _ in }
                return try run(command, tree, source, ImportChange(ignoring: ignored, identities: identities, setsID: request.setsID))
            } catch { throw TreeRefusal(error.message) }
        }
    }

    /// - Parameters:
    ///   - source: the tree whose metadata is copied.
    ///   - setsID: whether files get set-id bits that they do not have.
    package static func copy(
        _ source: [UInt8], ignoring ignored: String?, setsID: Bool, into path: [UInt8], _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        let command = TreeCommand(name: "acl copy", options: options, operand: path, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(TreeRefusal) in
            do throws(ExportFailure) {
                let ignored = try ExportProperty.set(ofIgnored: ignored, known: ExportProperty.changeable)
                let source = try DirectorySource(source, isSorted: false, isOffline: options.isOffline)
                return try run(command, tree, source, ImportChange(ignoring: ignored, identities: [:], setsID: setsID))
            } catch { throw TreeRefusal(error.message) }
        }
    }

    /// Reads the whole export, before anything is changed.
    /// - Returns: the identities of this host for those of the export.
    private static func examine(
        _ file: StableFile, _ mapping: IdentityMapping, _ ignored: Set<ExportProperty>, _ host: SystemNames, _ sink: OutputSink
    ) throws(ExportFailure) -> [GUID: GUID] {
        let source = try FileSource(file.name, file.open(), takesListings: false) { _ in }
        let known = source.identities ?? ExportIdentities()
        var identities: [GUID: GUID] = [:]
        var refused: Set<IdentityMapping.Refusal> = []
        // A sorted export has shown by its order that no path is there twice.
        var paths: Set<[UInt8]> = []
        while let item = try source.next() {
            if !source.header.isOrdered, !item.isUnread, !paths.insert(item.path).inserted {
                throw ExportFailure("\(file.name): '\(escapedName(item.path))' appears twice")
            }
            guard case .object(var object) = item else { continue }
            if ignored.contains(.owner) { object.owner = nil }
            if ignored.contains(.group) { object.group = nil }
            if ignored.contains(.acl) { object.list = nil }
            for identity in object.identities where identities[identity] == nil {
                do throws(IdentityMapping.Refusal) {
                    identities[identity] = try mapping.target(of: identity, named: known.exportedName(of: identity), host: host)
                } catch {
                    if refused.insert(error).inserted { sink.complain("\(file.name): \(escapedName(item.path)): \(error.message)") }
                    identities[identity] = identity
                }
            }
        }
        guard refused.isEmpty else {
            throw ExportFailure("\(refused.count) \(refused.count == 1 ? "name has" : "names have") no account here; nothing was changed")
        }
        return identities
    }

    private static func run(
        _ command: TreeCommand, _ tree: any ChangeableTree, _ source: some ExportSource, _ change: ImportChange
    ) throws(ExportFailure) -> Int32 {
        do throws(TreeRefusal) {
            return try command.run(tree, change, .all) { (run) throws(TreeRefusal) in
                try run.run { (worker) throws(TreeRefusal) in
                    do throws(ExportFailure) { try visit(source, tree, change, run, worker) } catch { throw TreeRefusal(error.message) }
                }
            }
        } catch { throw ExportFailure(error.message) }
    }

    private static func visit(
        _ source: some ExportSource, _ tree: any ChangeableTree, _ change: ImportChange, _ run: ChangeRun<ImportChange>,
        _ worker: ChangeWorker<ImportChange>
    ) throws(ExportFailure) {
        let files = LinuxFiles(staysBeneath: true)
        while !run.isStopped, let item = try source.next() {
            switch item {
            case .unread(let path, let reason): run.report.leave(path, "its metadata could not be read: \(reason)")
            case .object(let object):
                do throws(Errno) {
                    let node = try open(object.path, tree, files)
                    var met = MetObject(node: node, path: object.path, status: try Syscall.statx(node.rawValue))
                    if met.status.nlink > 1, !met.status.isDirectory { met.directory = try directory(of: object.path, tree, files) }
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
