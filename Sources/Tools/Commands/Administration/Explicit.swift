import ArgumentParser
import Authorization

/// `aclfs explicit`: inherited entries become explicit ones (docs/guide/administration.md).
struct Explicit: ParsedCommand, ListedCommand {
    static let summary = "make inherited entries explicit"
    static let example = "explicit -R folder"
    static let configuration = CommandConfiguration(
        commandName: "aclfs explicit", abstract: "Makes inherited entries explicit, so that no propagation replaces them.",
        usage: "aclfs explicit [-R] \(treeUsage) PATH",
        discussion: """
            The order of the entries stays, as with chmod -i: another order would have another meaning.
            """)

    @Flag(name: [.customShort("R"), .long], help: "Also all below PATH.") var recursive = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(treePlace, valueName: "PATH")) var path: ByteWord

    func perform() -> Int32 {
        changeTree(path, tree.options) { (command, tree) throws(CommandFailure) in
            try command.run(tree, InheritanceChange(change: .makeExplicit), recursive ? .all : .top)
        }
    }
}
