import Authorization

/// The guide's operations on the lists of existing objects (docs/reference/authorization.md 5.6).
struct InheritanceChange: TreeChange {
    let change: ListChange

    var changesOwners: Bool { false }
    var needsListAbove: Bool { change == .inherit }
    var listChange: ListChange? { change }

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        do throws(AttributeFailure) {
            let before = try read()
            let old = try before.list()
            let new: ACL?
            do { new = try change.list(of: object.kind, under: list, over: old) } catch {
                throw .noEffect("it would have more than \(ACL.maximumEntryCount) entries")
            }
            return PlannedChange(
                states: old == new ? nil : (before, try before.with(new)), list: new,
                isProtected: change == .inherit && old?.isProtected == true)
        } catch { throw .failure(error) }
    }
}
