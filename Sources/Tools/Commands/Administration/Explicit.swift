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

    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    func perform() -> Int32 {
        let command = TreeCommand(name: "explicit", options: tree.options, operand: path.bytes, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(CommandFailure) in
            try command.run(tree, InheritanceChange(change: .makeExplicit), recursive ? .all : .top)
        }
    }
}
