import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs acl import --posix`: the POSIX ACLs of a backing directory become entries of the same meaning (docs/reference/posix-acl.md "Import").
enum PosixImport {
    /// - Returns: the exit status: 0, 1 if an object stays as it was, 2 if nothing is done.
    static func perform(_ source: [UInt8], _ options: TreeOptions, _ sink: OutputSink) -> Int32 {
        guard options.isDryRun || options.undoFile != nil else {
            sink.complain(
                "acl import: --posix needs --undo-file FILE, a new file from which aclfs restore undoes the import, or --dry-run")
            return 2
        }
        var options = options
        // On a mount there is none to import.
        options.isOffline = true
        // The owner of a tree may turn what is there into entries of mounts of its own.
        if geteuid() != 0, options.metadata == nil { options.metadata = "user" }
        let command = TreeCommand(name: "acl import --posix", options: options, operand: source, sink: sink)
        return command.perform(needsDirectory: true) { (tree) throws(CommandFailure) in
            guard let tree = tree as? OfflineTree else {
                throw CommandFailure(OfflineTree.refusal(of: source, on: MountedTree.mount(of: tree.status)?.path ?? ""))
            }
            warnOfReach(tree, sink)
            return try command.run(tree, PosixImportChange(tree: tree), .all, prefix: [])
        }
    }

    /// From now on only the mode decides for callers who reach the directory past the mount.
    private static func warnOfReach(_ tree: OfflineTree, _ sink: OutputSink) {
        let path = String(decoding: tree.path, as: UTF8.self)
        let reach = SourceReach(source: path, mountpoint: "/proc/self/none")
        guard reach.isOpenToOthers else { return }
        sink.complain("warning: \(path) can be reached without a mount by \(reach.description): there only modes count after the import")
    }
}

/// What an import makes of each object.
private struct PosixImportChange: TreeChange {
    let tree: OfflineTree
    let changesOwners = false
    let needsListAbove = false

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        if object.status.isSymlink { return PlannedChange() }
        let before: TreeState
        do throws(AttributeFailure) {
            do throws(Errno) { guard try hasList(object) else { return PlannedChange() } } catch { throw .system(error) }
            before = try read()
        } catch { throw .failure(error) }
        do throws(PosixImportRefusal) {
            guard let plan = try PosixImportPlan(before, object.status, recordName: tree.files.recordName) else { return PlannedChange() }
            if (try? tree.files.value(tree.otherRecordName, of: object.node)) != nil { throw .otherRecord(tree.otherRecordName) }
            return PlannedChange(states: (before, plan.after), list: plan.acl)
        } catch { throw .reason(error.message) }
    }

    /// Nearly no object has one, so the record is not read first.
    private func hasList(_ object: MetObject) throws(Errno) -> Bool {
        if try tree.files.value(BackingAttributes.accessName, of: object.node) != nil { return true }
        guard object.status.isDirectory else { return false }
        return try tree.files.value(BackingAttributes.standardName, of: object.node) != nil
    }
}
