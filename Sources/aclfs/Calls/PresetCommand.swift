import Commands
import ToolSupport

/// `aclfs preset`: folders of kinds that people ask for.
enum PresetCommand {
    private static let words = ["apply", "show", "undo"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "apply":
            return PresetApplyArguments.run(rest, wrongUse: 2) {
                Presets.apply($0.preset, $0.directory.bytes, group: $0.group, $0.tree.options)
            }
        case "show":
            return PresetShowArguments.run(rest, wrongUse: 2) {
                Presets.show(
                    $0.preset, $0.directory?.bytes, group: $0.group,
                    TreeOptions(json: $0.json, metadata: $0.metadata, isOffline: $0.offline))
            }
        case "undo":
            return PresetUndoArguments.run(rest, wrongUse: 2) {
                Presets.undo(
                    $0.directory.bytes, isForced: $0.force,
                    TreeOptions(
                        isDryRun: $0.dryRun, includesHardLinks: $0.hardLinks, isVerbose: $0.verbose, json: $0.json,
                        metadata: $0.metadata, isOffline: $0.offline))
            }
        case "--help", "-h", "help":
            printLines(usage)
            return 0
        case let word: return SandboxCommand.unknown(word, in: words, "aclfs preset", usage)
        }
    }

    private static let usage = """
        usage: aclfs preset apply [--group GROUP] [OPTIONS] PRESET DIRECTORY
               aclfs preset show [--json] [--group GROUP] [PRESET [DIRECTORY]]
               aclfs preset undo [--dry-run] [--force] DIRECTORY

        Presets: drop-box, append-only, no-delete, team-share, read-only, public.

        Example: aclfs preset show team-share
        """
}
