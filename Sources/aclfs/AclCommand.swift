import Commands
import ToolSupport

/// `aclfs acl`: lists of whole trees.
enum AclCommand {
    private static let words = ["import"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
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
        usage: aclfs acl import --posix --dry-run|--undo-file FILE [--json] [--verbose] [--hard-links] [--metadata WHERE] SOURCE
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
