import ACLFormats
import Authorization
import LinuxSystem

/// The guide's operations on the lists of existing objects (docs/authorization.md 5.6).
enum InheritanceChange: TreeChange {
    /// The explicit entries, and those that the directory passes on.
    case inherit
    /// No entry is marked inherited any more.
    case makeExplicit
    case removeInherited
    case removeAll

    var changesOwners: Bool { false }
    var needsListAbove: Bool { self == .inherit }

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        do throws(AttributeFailure) {
            let before = try read()
            let old = try before.list()
            let new: ACL?
            switch self {
            case .inherit:
                do { new = try propagatedACL(from: list, to: object.kind, over: old) } catch {
                    throw .noEffect("it would have more than \(ACL.maximumEntryCount) entries")
                }
            // As chmod -i and -I.
            case .makeExplicit: new = old == nil ? nil : ACLEdit.clearInherited.applied(to: old).acl
            case .removeInherited: new = old == nil ? nil : ACLEdit.removeInherited.applied(to: old).acl
            case .removeAll: new = nil
            }
            return PlannedChange(states: old == new ? nil : (before, try before.with(new)), list: new)
        } catch { throw .failure(error) }
    }
}
