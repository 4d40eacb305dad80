import ArgumentParser
import Commands

/// The options of all commands that change the objects of a tree.
struct WalkArguments: ParsableArguments {
    @Flag(help: "Print what would change, and change nothing.") var dryRun = false
    @Option(help: ArgumentHelp("A new file, from which aclfs restore undoes the changes.", valueName: "FILE")) var undoFile: ByteWord?
    @Flag(help: "Go on with the undo file of a run that was interrupted.") var resume = false
    @Flag(help: "Also objects that have names outside of the tree.") var hardLinks = false
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is changed, with its entries.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false

    var options: TreeOptions { options(workers: nil) }

    fileprivate func options(workers: Int?) -> TreeOptions {
        TreeOptions(
            undoFile: undoFile?.bytes, resumes: resume, isDryRun: dryRun, includesHardLinks: hardLinks, isVerbose: verbose, json: json,
            metadata: metadata, isOffline: offline, workers: workers)
    }
}

/// The same, of commands whose walk has several threads.
struct TreeArguments: ParsableArguments {
    @OptionGroup var walk: WalkArguments
    @Option(help: ArgumentHelp("The number of threads; by default that of the processors.", valueName: "NUMBER")) var workers: Int?

    var options: TreeOptions { walk.options(workers: workers) }
}

let treeUsage = "[--dry-run|--undo-file FILE [--resume]] [--json] [-v] [--hard-links] [--workers NUMBER] [--offline] [--metadata WHERE]"
private let place = "On a mount, or in a backing directory that is not mounted."

struct PropagateArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs propagate", abstract: "Gives the inheritable entries of a directory to all below it.",
        usage: "aclfs propagate \(treeUsage) DIRECTORY",
        discussion: """
            Each object keeps its explicit entries, and its inherited ones become those that its directory passes on, a directory \
            before its contents. The directory itself stays as it is.
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(place, valueName: "DIRECTORY")) var directory: ByteWord
}

struct InheritArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs inherit", abstract: "Gives an object the inheritable entries of the directory that it lies in.",
        usage: "aclfs inherit \(treeUsage) PATH",
        discussion: """
            For an object that was moved, or that was there before its directory had entries. It keeps its explicit entries. What lies \
            below it stays as it is; aclfs propagate is for that.
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(place, valueName: "PATH")) var path: ByteWord
}

struct ExplicitArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs explicit", abstract: "Makes inherited entries explicit, so that no propagation replaces them.",
        usage: "aclfs explicit [-R] \(treeUsage) PATH",
        discussion: """
            The order of the entries stays, as with chmod -i: another order would have another meaning.
            """)

    @Flag(name: [.customShort("R"), .long], help: "Also all below PATH.") var recursive = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(place, valueName: "PATH")) var path: ByteWord
}

struct StripArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs strip", abstract: "Removes all entries, or the inherited ones.",
        usage: "aclfs strip [-R] [--inherited] \(treeUsage) PATH",
        discussion: """
            Without entries only flags and mode decide. Without the inherited entries the explicit ones are left, as with chmod -I.
            """)

    @Flag(name: [.customShort("R"), .long], help: "Also all below PATH.") var recursive = false
    @Flag(help: "Only the inherited entries.") var inherited = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(place, valueName: "PATH")) var path: ByteWord
}

struct CopyModeArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs copy-mode", abstract: "Gives owner, group and mode of a directory to all below it.",
        usage: "aclfs copy-mode [--keep-execute] \(treeUsage) DIRECTORY",
        discussion: """
            The mode is that of the directory, without set-id bits; sticky bits stay. An object that gets another owner or group loses \
            its set-id bits. Entries stay.
            """)

    @Flag(help: "Files keep their own execute bits.") var keepExecute = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(place, valueName: "DIRECTORY")) var directory: ByteWord
}

struct VolumeArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs volume", abstract: "Settings of a backing directory, which count for each mount of it.",
        usage: "aclfs volume [--json] [--metadata WHERE] [--reset] SOURCE [acl|noacl] [owners|noowners]",
        discussion: """
            Without words it prints the settings. An option of the mount overrides a setting, and the log says so. The words mean what \
            they mean as options of a mount.
            """)

    @Flag(help: "Remove all settings first.") var reset = false
    @Option(
        help: ArgumentHelp(
            "Where the directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp("The backing directory. To be changed it must not be mounted.", valueName: "SOURCE")) var source: ByteWord
    @Argument(help: ArgumentHelp("Whether ACLs count: acl or noacl; whether ownership counts: owners or noowners.", valueName: "SETTING"))
    var settings: [String] = []
}

struct PresetApplyArguments: ParsableCommand {
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
    @Argument(help: ArgumentHelp(place, valueName: "DIRECTORY")) var directory: ByteWord
}

struct PresetShowArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs preset show", abstract: "The presets; or the entries of one, and what owner, members and others can do then.",
        usage: "aclfs preset show [--json] [--group GROUP] [--offline] [--metadata WHERE] [PRESET [DIRECTORY]]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("Whose members the entries name; by default the group of the directory.", valueName: "GROUP")) var group:
        String?
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Argument(help: ArgumentHelp("One of drop-box, append-only, no-delete, team-share, read-only or public.", valueName: "PRESET"))
    var preset: String?
    @Argument(help: ArgumentHelp("By default the working directory.", valueName: "DIRECTORY")) var directory: ByteWord?
}

struct PresetUndoArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs preset undo", abstract: "Undoes the preset that was applied to a directory last.",
        usage: "aclfs preset undo [--dry-run] [--json] [-v] [--force] [--hard-links] [--offline] [--metadata WHERE] DIRECTORY")

    @Flag(help: "Print what would be restored, and change nothing.") var dryRun = false
    @Flag(help: "Also objects that were changed after the preset.") var force = false
    @Flag(help: "Also objects that have more names than then.") var hardLinks = false
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is restored.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Argument(help: ArgumentHelp(place, valueName: "DIRECTORY")) var directory: ByteWord
}
