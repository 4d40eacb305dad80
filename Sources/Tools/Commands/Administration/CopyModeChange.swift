import ACLFormats
import Authorization
import LinuxSystem

/// The guide's "copy permissions": owner, group and mode of a directory for all below it.
struct CopyModeChange: TreeChange {
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
