import ArgumentParser
import Authorization

/// `aclfs propagate`: the inheritable entries of a directory to all below it (docs/guide/administration.md).
struct Propagate: ParsedCommand, ListedCommand {
    static let summary = "inheritable entries of a directory to all below"
    static let example = "propagate /srv/share/folder"
    static let configuration = CommandConfiguration(
        commandName: "aclfs propagate", abstract: "Gives the inheritable entries of a directory to everything below it.",
        usage: "aclfs propagate \(treeUsage) DIRECTORY",
        discussion: """
            Each object keeps its explicit entries, and its inherited ones become those that its directory passes on, a directory \
            before its contents. The directory itself stays as it is.
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(treePlace, valueName: "DIRECTORY")) var directory: ByteWord

    func perform() -> Int32 {
        changeTree(directory, tree.options, needsDirectory: true) { (command, tree) throws(CommandFailure) in
            try command.run(tree, InheritanceChange(change: .inherit), .below)
        }
    }
}
