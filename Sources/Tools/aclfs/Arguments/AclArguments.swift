import ArgumentParser
import Commands

// The arguments of `aclfs acl`.

struct AclExportArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl export",
        abstract: "Writes lists, flags, owner, group, mode and backup state of an object and of all below it as text.",
        usage: """
            aclfs acl export [--json] [--sorted] [--numeric] [--offline] [--metadata WHERE] PATH
            aclfs acl export --from-mac [--json] [--sorted] LISTING|DIRECTORY
            """)

    @Flag(help: "A line of JSON for each object instead of text.") var json = false
    @Flag(help: "Names in the order of their bytes, so that equal trees give equal text.") var sorted = false
    @Flag(name: [.customShort("n"), .long], help: "UUIDs and numbers instead of names.") var numeric = false
    @Flag(help: "Read what a Mac made: the output of ls -leR@O, or the files ._NAME below a directory.") var fromMac = false
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Argument(help: ArgumentHelp("On a mount, or a backing directory.", valueName: "PATH")) var path: ByteWord
}

struct AclDiffArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl diff",
        abstract: "Where lists, flags, owner, group, mode and backup state of two trees differ.",
        usage: "aclfs acl diff [--json] [--names] [--ignore WORD,...] [--offline] [--metadata WHERE] A B")

    @Flag(help: "A line of JSON for each difference.") var json = false
    @Flag(help: "Users and groups of the same name are the same, whatever their numbers are.") var names = false
    @Option(
        help: ArgumentHelp("What is not compared: kind, owner, group, mode, flags, backup, acl.", valueName: "WORD,..."))
    var ignore: String?
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Argument(help: ArgumentHelp("A directory, an export, or the output of ls -leR@O on a Mac; - is standard input.", valueName: "A"))
    var before: ByteWord
    @Argument(help: ArgumentHelp("As A.", valueName: "B")) var after: ByteWord
}

struct AclImportArguments: ParsableCommand {
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
    @Option(help: ArgumentHelp("NEW is put in the place of the user OLD of the export.", valueName: "OLD=NEW")) var mapUser: [String] = []
    @Option(help: ArgumentHelp("NEW is put in the place of the group OLD of the export.", valueName: "OLD=NEW")) var mapGroup: [String] = []
    @Option(help: ArgumentHelp("A file with lines user:OLD=NEW and group:OLD=NEW.", valueName: "FILE")) var map: ByteWord?
    @Option(
        help: ArgumentHelp(
            "What to do with a name that is no account here: refuse the import, or keep the identity of the export. By default refuse.",
            valueName: "refuse|keep"))
    var unknown: String?
    @Flag(name: [.customShort("n"), .long], help: "The identities of the export count, and not its names.") var numeric = false
    @Option(help: ArgumentHelp("What stays as it is: owner, group, mode, flags, backup, acl.", valueName: "WORD,...")) var ignore: String?
    @Flag(help: "Also set-id bits that files do not have: others may have put another file in the place.") var setId = false
    @Flag(help: "Print what would change, and change nothing.") var dryRun = false
    @Option(help: ArgumentHelp("A new file, from which aclfs restore undoes the import.", valueName: "FILE")) var undoFile: ByteWord?
    @Flag(help: "Go on with the undo file of an import that was interrupted.") var resume = false
    @Flag(help: "Also objects that have names outside of the tree.") var hardLinks = false
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
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
            metadata: metadata, isOffline: offline)
    }
}

struct AclCopyArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl copy",
        abstract: "Gives objects the lists, flags, owner, group, mode and backup state of those with the same path in another tree.",
        usage: """
            aclfs acl copy [--dry-run|--undo-file FILE [--resume]] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links] \
            [--offline] [--metadata WHERE] FROM TO
            """,
        discussion: """
            What has no counterpart in TO is named and left out; what lies only in TO stays as it is.

            Exit status: 0, 1 if an object stays as it was, 2 if nothing is done.

            Example: aclfs acl copy --ignore owner,group /srv/share/template /srv/share/plans
            """)

    @Option(help: ArgumentHelp("What stays as it is: owner, group, mode, flags, backup, acl.", valueName: "WORD,...")) var ignore: String?
    @Flag(help: "Also set-id bits that files do not have: others may have put another file in the place.") var setId = false
    @OptionGroup var tree: WalkArguments
    @Argument(help: ArgumentHelp("On a mount, or a backing directory.", valueName: "FROM")) var from: ByteWord
    @Argument(help: ArgumentHelp("On a mount, or in a backing directory that is not mounted.", valueName: "TO")) var to: ByteWord
}

struct AclRemapArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl remap",
        abstract: "Puts another user or group in the place of one: in lists, and as owner and group.",
        usage: "aclfs acl remap \(treeUsage) OLD NEW PATH",
        discussion: """
            OLD and NEW are names, user:NAME, group:NAME, user:#NUMBER, group:#NUMBER or UUIDs. An object whose owner or group changes \
            loses its set-id bits.

            Exit status: 0, 1 if an object stays as it was, 2 if nothing is done.

            Example: aclfs acl remap --undo-file bob.undo user:#1002 bob /srv/share
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp("A user or a group.", valueName: "OLD")) var old: ByteWord
    @Argument(help: ArgumentHelp("A user or a group, as OLD.", valueName: "NEW")) var new: ByteWord
    @Argument(help: ArgumentHelp("On a mount, or in a backing directory that is not mounted.", valueName: "PATH")) var path: ByteWord
}
