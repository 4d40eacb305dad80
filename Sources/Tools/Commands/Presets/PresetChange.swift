import Authorization
import LinuxSystem

/// What a preset makes of its directory and of all below it.
struct PresetChange: TreeChange {
    let entries: [ACE]
    /// The nine bits of the directory.
    let mode: UInt16
    let changesOwners = false
    let needsListAbove = true

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        guard object.path == UndoEntry.topPath else { return try InheritanceChange(change: .inherit).plan(object, under: list, read) }
        do throws(AttributeFailure) {
            let before = try read()
            let new = self.list(over: try before.list())
            if new.entries.count > ACL.maximumEntryCount { throw .noEffect("it would have more than \(ACL.maximumEntryCount) entries") }
            var after = try before.with(new)
            after.mode = mode
            return PlannedChange(states: before == after ? nil : (before, after), list: new)
        } catch { throw .failure(error) }
    }

    /// The entries of the preset, and nothing from above: an inherited entry would let people do what the preset says they cannot, or the reverse,
    /// today or after a change of a directory above.
    func list(over old: ACL?) -> ACL { ACL(entries, listFlags: (old?.listFlags ?? 0) | ACL.noInherit) }
}
