import ACLFormats
import ArgumentParser
import ToolSupport

/// `aclfs preset apply PRESET DIRECTORY`.
struct PresetApply: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs preset apply", abstract: "Turns a directory, with everything in it, into a ready-made folder.",
        usage: "aclfs preset apply [--group GROUP] \(treeUsage) PRESET DIRECTORY",
        discussion: """
            The entries of the preset take the place of all entries of the directory, which also gets a mode and inherits nothing from above \
            any more (no_inherit); what lies below \
            inherits them. Without --undo-file the old state is kept for aclfs preset undo.
            """)

    @Option(help: ArgumentHelp("Whose members the entries name; by default the group of the directory.", valueName: "GROUP")) var group:
        String?
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp("One of drop-box, append-only, no-delete, team-share, read-only or public.", valueName: "PRESET"))
    var preset: String
    @Argument(help: ArgumentHelp(treePlace, valueName: "DIRECTORY")) var directory: ByteWord

    func perform() throws(CommandFailure) -> Int32 {
        var options = tree.options
        let preset = try Presets.preset(self.preset)
        let target = try TreeCommand(self, options, directory).tree(needsDirectory: true)
        try Presets.requireEffect(target, directory.bytes)
        let kept = options.undoFile == nil && !options.isDryRun ? try PresetFiles().next(target.identity) : nil
        options.undoFile = options.undoFile ?? kept
        // What changed nothing would stand before what the next undo should undo.
        defer { if let kept { PresetFiles.removeIfEmpty(kept) } }
        return changeTree(directory, options, needsDirectory: true) { (command, tree) throws(CommandFailure) in
            let plan = try PresetPlan(preset, tree, directory.bytes, group: group)
            let status = try command.run(tree, plan.change, .all)
            let isInForce = options.isDryRun || plan.isInForce(on: tree)
            if isInForce {
                for entry in ACLTextPrinter.lines(plan.inherited, isDirectory: true, names: SystemNames()) {
                    sink.complain("warning: \(escapedName(directory.bytes)) no longer inherits\(entry.drop { $0 != ":" }.dropFirst())")
                }
            }
            if status == 0 || !options.json && isInForce {
                PresetText(plan, isJSON: options.json, sink).show()
            }
            return status
        }
    }
}
