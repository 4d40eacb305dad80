import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs acl import`: objects get the metadata that an export states (docs/guide/export.md "Importing").
struct AclImport: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl import",
        abstract: "Gives objects the metadata that an export states, or turns POSIX ACLs into entries of the same meaning.",
        usage: """
            aclfs acl import [--dry-run|--undo-file FILE [--resume]] [--map-user OLD=NEW] [--map-group OLD=NEW] [--map FILE] \
            [--unknown refuse|keep] [--numeric] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links] [--offline] [--metadata WHERE] EXPORT PATH
            aclfs acl import --posix --dry-run|--undo-file FILE [--resume] [--json] [--verbose] [--hard-links] [--metadata WHERE] SOURCE
            """,
        discussion: """
            Of an export, the whole file is examined before the first change. Each path is looked for below PATH, and no symbolic link is \
            followed. Users and groups are those of their names here.

            Exit status: 0, 1 if an object stays as it was, 2 if nothing is done.

            Example: aclfs acl import --undo-file lists.undo lists.txt /srv/share
            """)

    @Flag(help: "Import the POSIX ACLs of a backing directory.") var posix = false
    @Option(help: ArgumentHelp("Map the user OLD of the export to NEW.", valueName: "OLD=NEW")) var mapUser: [String] = []
    @Option(help: ArgumentHelp("Map the group OLD of the export to NEW.", valueName: "OLD=NEW")) var mapGroup: [String] = []
    @Option(help: ArgumentHelp("A file with lines user:OLD=NEW and group:OLD=NEW.", valueName: "FILE")) var map: ByteWord?
    @Option(
        help: ArgumentHelp(
            "What to do with a name that has no account here: refuse the import, or keep the identity of the export. By default refuse.",
            valueName: "refuse|keep"))
    var unknown: String?
    @Flag(name: [.customShort("n"), .long], help: "Use the identities of the export, not its names.") var numeric = false
    @Option(help: ArgumentHelp("What stays as it is: owner, group, mode, flags, backup, acl.", valueName: "WORD,...")) var ignore: String?
    @Flag(help: "Also set-id bits that files do not have: others may have put another file in the place.") var setId = false
    @Flag(help: "Print what would change, and change nothing.") var dryRun = false
    @Option(help: ArgumentHelp("A new file, from which aclfs restore undoes the import.", valueName: "FILE")) var undoFile: ByteWord?
    @Flag(help: "Go on with the undo file of an import that was interrupted.") var resume = false
    @Flag(help: "Also objects with hard links outside of the tree.") var hardLinks = false
    @OptionGroup var backing: BackingOptions
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is changed, with its entries.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Argument(
        help: ArgumentHelp(
            "The export (- is standard input), and what it is imported into: on a mount, or in a backing directory that is not mounted. "
                + "With --posix such a backing directory alone.", valueName: "EXPORT PATH"))
    var paths: [ByteWord]

    var options: TreeOptions {
        TreeOptions(
            undoFile: undoFile?.bytes, resumes: resume, isDryRun: dryRun, includesHardLinks: hardLinks, isVerbose: verbose, json: json,
            metadata: backing.metadata, isOffline: backing.offline)
    }

    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    func perform() -> Int32 {
        if posix, paths.count == 1 { return PosixImport.perform(paths[0].bytes, options, sink) }
        guard !posix, paths.count == 2 else {
            printError(
                posix
                    ? "aclfs: acl import: with --posix name one backing directory"
                    : "aclfs: acl import: name an export and what to import it into, or --posix and a backing directory", usage: Acl.usage)
            return 2
        }
        return changeTree(paths[1], options) { (command, tree) throws(CommandFailure) in
            let ignored = try ExportProperty.set(ofIgnored: ignore, known: ExportProperty.changeable)
            let host = SystemNames()
            let file = try StableFile(paths[0].bytes)
            let identities = try Self.examine(file, try mapping(host), ignored, host, sink)
            let source = try FileSource(file.name, file.open(), takesListings: false) { _ in }
            let change = ImportChange(ignoring: ignored, identities: identities, setsID: setId)
            return try StatedMetadata(source: source, change: change).give(to: tree, command)
        }
    }

    private func mapping(_ host: SystemNames) throws(CommandFailure) -> IdentityMapping {
        guard let unknown = IdentityMapping.Unknown(rawValue: self.unknown ?? "refuse") else {
            throw CommandFailure("--unknown: '\(escapedName((self.unknown ?? "").utf8))' is neither refuse nor keep")
        }
        var mapping = IdentityMapping(unknown: unknown, isNumeric: numeric)
        for word in mapUser {
            do { try mapping.add(word, kind: .user, host: host) } catch { throw CommandFailure("--map-user: \(error.message)") }
        }
        for word in mapGroup {
            do { try mapping.add(word, kind: .group, host: host) } catch { throw CommandFailure("--map-group: \(error.message)") }
        }
        guard let map = map?.bytes else { return mapping }
        do throws(CommandFailure) {
            let file = try FileSource.open(map)
            let text: [UInt8]
            do { text = try Syscall.readAll(file.rawValue, limit: 1 << 24) } catch { throw CommandFailure(error.text) }
            try mapping.add(lines: text, host: host)
        } catch { throw CommandFailure("\(escapedName(map)): \(error.message)") }
        return mapping
    }

    /// Reads the whole export, before anything is changed.
    /// - Returns: the identities of this host for those of the export.
    private static func examine(
        _ file: StableFile, _ mapping: IdentityMapping, _ ignored: Set<ExportProperty>, _ host: SystemNames, _ sink: OutputSink
    ) throws(CommandFailure) -> [GUID: GUID] {
        let source = try FileSource(file.name, file.open(), takesListings: false) { _ in }
        let known = source.identities ?? ExportIdentities()
        var identities: [GUID: GUID] = [:]
        var refused: Set<IdentityMapping.Refusal> = []
        // A sorted export has shown by its order that no path is there twice.
        var paths: Set<[UInt8]> = []
        while let item = try source.next() {
            if !source.header.isOrdered, !item.isUnread, !paths.insert(item.path).inserted {
                throw CommandFailure("\(file.name): '\(escapedName(item.path))' appears twice")
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
            throw CommandFailure("\(refused.count) \(refused.count == 1 ? "name has" : "names have") no account here; nothing was changed")
        }
        return identities
    }
}
