import ArgumentParser
import Authorization

/// `aclfs strip`: no entries any more, or no inherited ones (docs/guide/administration.md).
struct Strip: ParsedCommand, ListedCommand {
    static let summary = "remove entries of a tree"
    static let example = "strip -R --inherited folder"
    static let configuration = CommandConfiguration(
        commandName: "aclfs strip", abstract: "Removes all entries, or only the inherited ones.",
        usage: "aclfs strip [-R] [--inherited] \(treeUsage) PATH",
        discussion: """
            Without entries only flags and mode decide. Without the inherited entries the explicit ones are left, as with chmod -I.
            """)

    @Flag(name: [.customShort("R"), .long], help: "Also all below PATH.") var recursive = false
    @Flag(help: "Only the inherited entries.") var inherited = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(treePlace, valueName: "PATH")) var path: ByteWord

    func perform() -> Int32 {
        changeTree(path, tree.options) { (command, tree) throws(CommandFailure) in
            try command.run(tree, InheritanceChange(change: inherited ? .removeInherited : .removeAll), recursive ? .all : .top)
        }
    }
}
