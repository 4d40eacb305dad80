import ACLFormats
import ToolSupport

/// `aclfs preset` (docs/guide/presets.md).
enum Presets: CommandGroup, ListedCommand {
    static let name = "aclfs preset"
    static let summary = "ready-made folders"
    static let example = "preset show team-share"
    static var commands: [any Command.Type] { [PresetApply.self, PresetShow.self, PresetUndo.self] }
    static let usage = """
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

    static let names = Preset.allCases.map(\.rawValue)

    /// - Throws: the mount ignores entries or owners. A preset would only close the folder there, or protect nothing.
    static func requireEffect(_ tree: any ChangeableTree, _ directory: [UInt8]) throws(CommandFailure) {
        // A mount whose daemon does not answer takes no change either.
        guard tree.isMounted, let location = try? MountLocation(directory, isFollowed: true),
            let option = IgnoredRules.words(of: location).first
        else { return }
        throw CommandFailure(
            "\(escapedName(directory)) lies on a mount with \(option), where a preset has no effect; mount it without that, "
                + "or remove the setting with aclfs volume --reset")
    }

    static func preset(_ name: String) throws(CommandFailure) -> Preset {
        if let preset = Preset(rawValue: name) { return preset }
        let near = nearestWord(to: name.utf8, in: names).map { "; did you mean '\($0)'?" } ?? ""
        throw CommandFailure("'\(escapedName(name.utf8))' is not a preset\(near) (\(names.joined(separator: ", ")))")
    }
}
