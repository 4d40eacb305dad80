import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs inherit`: the inheritable entries of the directory of one object to this object (docs/guide/administration.md).
struct Inherit: ParsedCommand, ListedCommand {
    static let summary = "inheritable entries of its directory to an object"
    static let example = "inherit folder/plans"
    static let configuration = CommandConfiguration(
        commandName: "aclfs inherit", abstract: "Gives an object the inheritable entries of the directory that it lies in.",
        usage: "aclfs inherit \(treeUsage) PATH",
        discussion: """
            For an object that was moved, or that was there before its directory had entries. It keeps its explicit entries. What lies \
            below it stays as it is; aclfs propagate is for that.
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(treePlace, valueName: "PATH")) var path: ByteWord

    func perform() -> Int32 {
        changeTree(path, tree.options) { (command, tree) throws(CommandFailure) in
            try command.run(tree, InheritanceChange(change: .inherit), .top, under: try Self.listAbove(tree, path.bytes))
        }
    }

    /// The list of the directory that the top of a tree lies in.
    private static func listAbove(_ tree: any ChangeableTree, _ operand: [UInt8]) throws(CommandFailure) -> ACL? {
        let shown = escapedName(operand)
        let tools = TreeTools()
        let above: SharedDescriptor
        let status: FileStatus
        do throws(Errno) {
            above = try directory(of: tree, tools)
            status = try Syscall.statx(above.rawValue)
        } catch {
            throw CommandFailure(
                error == .xdev
                    ? "\(shown) is the top of its file system: there is no directory from which it could inherit"
                    : "\(shown): \(error.text)")
        }
        do throws(AttributeFailure) {
            return try tree.state(of: above, status, owners: false, tools).list()
        } catch {
            throw CommandFailure("the directory of \(shown): \(tree.message(error, isChange: false, above, status, tools))")
        }
    }

    /// Opens the directory that has the top of a tree, on the same file system.
    private static func directory(of tree: any ChangeableTree, _ tools: TreeTools) throws(Errno) -> SharedDescriptor {
        let path = directoryPath(of: tree.path)
        guard tree.path.count > 1 else { throw .xdev }
        let above = try LinuxFiles().open(path, followsLink: false)
        guard try Syscall.statx(above.rawValue).device == tree.status.device else { throw .xdev }
        let name = Array(tree.path[(path.count == 1 ? 1 : path.count + 1)...])
        // The path is of the moment when the object was opened.
        let node = try tools.files.open(name, in: above, followsLink: false)
        guard TreeIdentity(try Syscall.statx(node.rawValue)) == tree.identity else { throw .stale }
        return above
    }
}
