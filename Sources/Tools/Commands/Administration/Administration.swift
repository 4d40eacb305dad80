import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// The guide's operations on existing objects (docs/guide/administration.md). Each returns the exit status: 0, 1 if an object stays as it was,
/// 2 if nothing is done.
package enum Administration {
    /// `aclfs propagate`: the inheritable entries of a directory to all below it.
    package static func propagate(_ directory: [UInt8], _ options: TreeOptions, sink: OutputSink = .standard) -> Int32 {
        let command = TreeCommand(name: "propagate", options: options, operand: directory, sink: sink)
        return command.perform(needsDirectory: true) { (tree) throws(TreeRefusal) in
            try command.run(tree, InheritanceChange(change: .inherit), .below)
        }
    }

    /// `aclfs inherit`: the inheritable entries of the directory of one object to this object.
    package static func inherit(_ path: [UInt8], _ options: TreeOptions, sink: OutputSink = .standard) -> Int32 {
        let command = TreeCommand(name: "inherit", options: options, operand: path, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(TreeRefusal) in
            try command.run(tree, InheritanceChange(change: .inherit), .top, under: try listAbove(tree, path))
        }
    }

    /// `aclfs explicit`: inherited entries become explicit ones.
    package static func makeExplicit(
        _ path: [UInt8], isRecursive: Bool, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        let command = TreeCommand(name: "explicit", options: options, operand: path, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(TreeRefusal) in
            try command.run(tree, InheritanceChange(change: .makeExplicit), isRecursive ? .all : .top)
        }
    }

    /// `aclfs strip`: no entries any more, or no inherited ones.
    package static func strip(
        _ path: [UInt8], inherited: Bool, isRecursive: Bool, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        let command = TreeCommand(name: "strip", options: options, operand: path, sink: sink)
        return command.perform(needsDirectory: false) { (tree) throws(TreeRefusal) in
            try command.run(
                tree, InheritanceChange(change: inherited ? .removeInherited : .removeAll), isRecursive ? .all : .top)
        }
    }

    /// `aclfs copy-mode`: owner, group and mode of a directory to all below it.
    /// - Parameter keepsExecution: whether files keep their own execute bits.
    package static func copyMode(
        _ directory: [UInt8], keepsExecution: Bool, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        let command = TreeCommand(name: "copy-mode", options: options, operand: directory, sink: sink)
        return command.perform(needsDirectory: true) { (tree) throws(TreeRefusal) in
            let tools = TreeTools()
            let source: TreeState
            do throws(AttributeFailure) { source = try tree.state(of: tree.top, tree.status, owners: true, tools) } catch {
                throw TreeRefusal("\(escapedName(directory)): \(tree.message(error, isChange: false, tree.top, tree.status, tools))")
            }
            return try command.run(tree, CopyModeChange(source: source, keepsExecution: keepsExecution), .below)
        }
    }

    /// The list of the directory that the top of a tree lies in.
    private static func listAbove(_ tree: any ChangeableTree, _ operand: [UInt8]) throws(TreeRefusal) -> ACL? {
        let shown = escapedName(operand)
        let tools = TreeTools()
        let above: SharedDescriptor
        let status: FileStatus
        do throws(Errno) {
            above = try directory(of: tree, tools)
            status = try Syscall.statx(above.rawValue)
        } catch {
            throw TreeRefusal(
                error == .xdev
                    ? "\(shown) is the top of its file system: there is no directory from which it could inherit"
                    : "\(shown): \(error.text)")
        }
        do throws(AttributeFailure) {
            return try tree.state(of: above, status, owners: false, tools).list()
        } catch {
            throw TreeRefusal("the directory of \(shown): \(tree.message(error, isChange: false, above, status, tools))")
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
