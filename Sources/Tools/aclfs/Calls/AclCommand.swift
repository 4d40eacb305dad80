import Commands
import ToolSupport

/// `aclfs acl`: metadata of whole trees.
enum AclCommand {
    private static let words = ["export", "import", "diff", "copy", "remap"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "export":
            return AclExportArguments.run(rest, wrongUse: 2) { arguments in
                AclExport.perform(
                    AclExportRequest(
                        source: arguments.path.bytes, json: arguments.json, isSorted: arguments.sorted, isNumeric: arguments.numeric,
                        isFromMac: arguments.fromMac, metadata: arguments.metadata, isOffline: arguments.offline))
            }
        case "diff":
            return AclDiffArguments.run(rest, wrongUse: 2) { arguments in
                AclDiff.perform(
                    AclDiffRequest(
                        before: arguments.before.bytes, after: arguments.after.bytes, json: arguments.json,
                        comparesNames: arguments.names, ignored: arguments.ignore, metadata: arguments.metadata,
                        isOffline: arguments.offline))
            }
        case "import": return AclImportArguments.run(rest, wrongUse: 2, importLists)
        case "copy":
            return AclCopyArguments.run(rest, wrongUse: 2) { arguments in
                AclImport.copy(
                    arguments.from.bytes, ignoring: arguments.ignore, setsID: arguments.setId, into: arguments.to.bytes,
                    arguments.tree.options)
            }
        case "remap":
            return AclRemapArguments.run(rest, wrongUse: 2) { arguments in
                AclRemap.perform(arguments.old.bytes, arguments.new.bytes, in: arguments.path.bytes, arguments.tree.options)
            }
        case "--help", "-h", "help":
            printLines(usage)
            return 0
        case let word: return SandboxCommand.unknown(word, in: words, "aclfs acl", usage)
        }
    }

    private static func importLists(_ arguments: AclImportArguments) -> Int32 {
        let paths = arguments.paths.map(\.bytes)
        if arguments.posix, paths.count == 1 { return PosixImport.perform(paths[0], arguments.options) }
        guard !arguments.posix, paths.count == 2 else {
            printError(
                arguments.posix
                    ? "aclfs: acl import: with --posix name one backing directory"
                    : "aclfs: acl import: name an export and what to import it into, or --posix and a backing directory", usage: usage)
            return 2
        }
        return AclImport.perform(
            AclImportRequest(
                export: paths[0], users: arguments.mapUser, groups: arguments.mapGroup, map: arguments.map?.bytes,
                unknown: arguments.unknown, isNumeric: arguments.numeric, ignored: arguments.ignore, setsID: arguments.setId),
            into: paths[1], arguments.options)
    }

    private static let usage = """
        usage: aclfs acl export [--json] [--sorted] [--numeric] [--offline] [--metadata WHERE] PATH
               aclfs acl export --from-mac [--json] [--sorted] LISTING|DIRECTORY
               aclfs acl import [--dry-run|--undo-file FILE [--resume]] [--map-user OLD=NEW] [--map-group OLD=NEW] [--map FILE]
                   [--unknown refuse|keep] [--numeric] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links] [--offline] [--metadata WHERE] EXPORT PATH
               aclfs acl diff [--json] [--names] [--ignore WORD,...] [--offline] [--metadata WHERE] A B
               aclfs acl import --posix --dry-run|--undo-file FILE [--resume] [--json] [--verbose] [--hard-links] [--metadata WHERE] SOURCE
               aclfs acl copy [--dry-run|--undo-file FILE [--resume]] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links]
                   [--offline] [--metadata WHERE] FROM TO
               aclfs acl remap [--dry-run|--undo-file FILE [--resume]] [--json] [-v] [--hard-links] [--workers NUMBER] [--offline] [--metadata WHERE]
                   OLD NEW PATH
        """
}

/// `aclfs restore`.
enum RestoreCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        RestoreArguments.run(words, wrongUse: 2) { arguments in
            Restore.perform(
                RestoreRequest(
                    undoFile: arguments.file.bytes, source: arguments.source?.bytes, isDryRun: arguments.dryRun,
                    isForced: arguments.force, includesHardLinks: arguments.hardLinks, isVerbose: arguments.verbose,
                    json: arguments.json))
        }
    }
}
