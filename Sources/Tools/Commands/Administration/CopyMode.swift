import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs copy-mode`: owner, group and mode of a directory to all below it (docs/guide/administration.md).
struct CopyMode: ParsedCommand, ListedCommand {
    static let summary = "give owner, group and mode to everything below"
    static let example = "copy-mode --keep-execute folder"
    static let configuration = CommandConfiguration(
        commandName: "aclfs copy-mode", abstract: "Gives owner, group and mode of a directory to all below it.",
        usage: "aclfs copy-mode [--keep-execute] \(treeUsage) DIRECTORY",
        discussion: """
            The mode is that of the directory, without set-id bits; sticky bits stay. An object that gets another owner or group loses \
            its set-id bits. Entries stay.
            """)

    @Flag(help: "Files keep their own execute bits.") var keepExecute = false
    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp(treePlace, valueName: "DIRECTORY")) var directory: ByteWord

    func perform() -> Int32 {
        changeTree(directory, tree.options, needsDirectory: true) { (command, tree) throws(CommandFailure) in
            let tools = TreeTools()
            let source: TreeState
            do throws(AttributeFailure) { source = try tree.state(of: tree.top, tree.status, owners: true, tools) } catch {
                let reason = tree.message(error, isChange: false, tree.top, tree.status, tools)
                throw CommandFailure("\(escapedName(directory.bytes)): \(reason)")
            }
            return try command.run(tree, CopyModeChange(source: source, keepsExecution: keepExecute), .below)
        }
    }
}

/// What it makes of each object.
private struct CopyModeChange: TreeChange {
    /// Of the directory.
    let source: TreeState
    /// Whether files keep their own execute bits.
    let keepsExecution: Bool
    let changesOwners = true
    let needsListAbove = false
    let warningOfMark = "gets the mode of the directory too, although it carries no_inherit: if a preset made it, apply the preset again"

    private static let execution: UInt16 = 0o111

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        let before: TreeState
        do { before = try read() } catch { throw .failure(error) }
        var after = before
        after.owners = source.owners
        // A change of owner clears the set-id bits, and the directory's are not meant for files. Linux has no mode for symlinks.
        if !object.status.isSymlink {
            var permissions = source.mode & TreeState.permissionBits
            if keepsExecution, !object.status.isDirectory {
                permissions = permissions & ~Self.execution | before.mode & Self.execution
            }
            let kept = before.mode & (before.hasOwners(of: source) ? 0o7000 : 0o1000)
            after.mode = kept | permissions
        }
        if case .backing(var attributes) = before.store, case .backing(let own) = source.store {
            do throws(AttributeFailure) {
                let directory = try own.metadata()
                var record = try attributes.metadata()
                (record.ownerGUID, record.groupGUID) = (directory.ownerGUID, directory.groupGUID)
                try attributes.set(record)
            } catch { throw .failure(error) }
            // With a POSIX ACL the group bits would be its mask.
            if attributes.access != nil, after.mode != before.mode {
                throw .reason("it has a POSIX ACL, whose mask would be changed instead of the group's bits; see aclfs acl import --posix")
            }
            after.store = .backing(attributes)
        }
        let isProtected = before.mode != after.mode && (try? before.list())?.isProtected == true
        return PlannedChange(states: before == after ? nil : (before, after), list: nil, isProtected: isProtected)
    }
}
