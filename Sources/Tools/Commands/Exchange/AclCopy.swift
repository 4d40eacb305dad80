import ArgumentParser

/// `aclfs acl copy`: objects get the metadata of those with the same path in another tree (docs/guide/export.md "Importing").
struct AclCopy: ParsedCommand {
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

    func perform() -> Int32 {
        changeTree(to, tree.options) { (command, target) throws(CommandFailure) in
            let ignored = try ExportProperty.set(ofIgnored: ignore, known: ExportProperty.changeable)
            let source = try DirectorySource(from.bytes, isSorted: false, isOffline: tree.backing.offline)
            let change = ImportChange(ignoring: ignored, identities: [:], setsID: setId)
            return try StatedMetadata(source: source, change: change).give(to: target, command)
        }
    }
}
