import Commands
import ToolSupport

/// `aclfs acl`: lists of whole trees.
enum AclCommand {
    private static let words = ["export", "diff", "import"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "export":
            return AclExportArguments.run(rest, wrongUse: 2) { arguments in
                AclExport.perform(
                    AclExportRequest(
                        source: arguments.path.bytes, json: arguments.json, isSorted: arguments.sorted, isNumeric: arguments.numeric,
                        isFromMac: arguments.fromMac, metadata: arguments.metadata))
            }
        case "diff":
            return AclDiffArguments.run(rest, wrongUse: 2) { arguments in
                AclDiff.perform(
                    AclDiffRequest(
                        before: arguments.before.bytes, after: arguments.after.bytes, json: arguments.json,
                        comparesNames: arguments.names, ignored: arguments.ignore, metadata: arguments.metadata))
            }
        case "import": return AclImportArguments.run(rest, wrongUse: 2, importLists)
        case "--help", "-h", "help":
            printLines(usage)
            return 0
        case let word: return SandboxCommand.unknown(word, in: words, "aclfs acl", usage)
        }
    }

    private static func importLists(_ arguments: AclImportArguments) -> Int32 {
        guard arguments.posix else {
            printError("aclfs: acl import: --posix is missing: POSIX ACLs are all that can be imported", usage: usage)
            return 2
        }
        return PosixImport.perform(
            arguments.source.bytes,
            TreeOptions(
                undoFile: arguments.undoFile?.bytes, isDryRun: arguments.dryRun, includesHardLinks: arguments.hardLinks,
                isVerbose: arguments.verbose, json: arguments.json, metadata: arguments.metadata))
    }

    private static let usage = """
        usage: aclfs acl export [--json] [--sorted] [--numeric] [--metadata WHERE] PATH
               aclfs acl export --from-mac [--json] [--sorted] LISTING|DIRECTORY
               aclfs acl diff [--json] [--names] [--ignore WORD,...] [--metadata WHERE] A B
               aclfs acl import --posix --dry-run|--undo-file FILE [--json] [--verbose] [--hard-links] [--metadata WHERE] SOURCE
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
