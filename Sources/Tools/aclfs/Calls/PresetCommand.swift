import Commands
import ToolSupport

/// `aclfs preset`: ready-made folders.
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
        usage: aclfs preset apply [OPTIONS] PRESET DIRECTORY
               aclfs preset show [OPTIONS] [PRESET [DIRECTORY]]
               aclfs preset undo [OPTIONS] DIRECTORY

        Presets: drop-box, append-only, no-delete, team-share, read-only, public.

        Options of apply, and of the others those that are named:

          --group GROUP     whose members the entries name (show)
          --dry-run         prints what would change (undo)
          --undo-file FILE  a new file, from which aclfs restore undoes it
          --resume          goes on with the undo file of an interrupted run
          --hard-links      also objects that have more names (undo)
          --workers NUMBER  the number of threads
          --offline         also a backing directory (show, undo)
          --metadata WHERE  where a backing directory has its entries (show, undo)
          -v, --verbose     names what is changed (undo)
          --json            prints JSON (show, undo)
          --force           of undo alone: also what was changed since

        Example: aclfs preset show team-share
        """
}
