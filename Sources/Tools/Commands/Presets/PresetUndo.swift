import ACLFormats
import ArgumentParser
import LinuxSystem
import ToolSupport

/// `aclfs preset undo DIRECTORY`: undoes the last preset that this user applied to it.
struct PresetUndo: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs preset undo", abstract: "Undoes the preset that was applied to a directory last.",
        usage: "aclfs preset undo [--dry-run] [--json] [-v] [--force] [--hard-links] [--offline] [--metadata WHERE] DIRECTORY")

    @Flag(help: "Print what would be restored, and change nothing.") var dryRun = false
    @Flag(help: "Also objects that were changed after the preset.") var force = false
    @Flag(help: "Also objects that have more hard links than at that time.") var hardLinks = false
    @OptionGroup var backing: BackingOptions
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is restored.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Argument(help: ArgumentHelp(treePlace, valueName: "DIRECTORY")) var directory: ByteWord

    func perform() throws(CommandFailure) -> Int32 {
        let options = TreeOptions(metadata: backing.metadata, isOffline: backing.offline)
        let tree = try TreeCommand(self, options, directory).tree(needsDirectory: true)
        guard let file = try PresetFiles().newest(of: tree) else {
            throw CommandFailure(
                "this user has no preset to undo on \(escapedName(directory.bytes)); if it was applied with --undo-file, use aclfs restore")
        }
        let status = Restore.perform(
            RestoreRequest(
                undoFile: file, source: directory.bytes, isDryRun: dryRun, isForced: force, includesHardLinks: hardLinks,
                isVerbose: verbose, json: json), sink)
        if status == 0, !dryRun {
            try? file.withCString { (path) throws(Errno) in try Syscall.unlinkat(Syscall.workingDirectory, path) }
        }
        return status
    }
}
