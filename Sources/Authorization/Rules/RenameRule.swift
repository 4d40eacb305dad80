// docs/reference/authorization.md 2.2, the rows on rename; Q3 for directories that are replaced.

/// The role of the new name's directory: a rename within a directory has `parent` only.
private func destination(_ facts: FactsByRole) -> ObjectRole { facts.targetParent == nil ? .parent : .targetParent }

/// The source needs delete, a directory also the right to change its `..`, even if it stays where it is. Then the new name, then
/// the object that it replaces.
func renameChecks(_ facts: FactsByRole) -> CheckList? {
    guard let object = facts.object else { return nil }
    let source: Rights = object.kind == .directory ? [.delete, .addSubdirectory] : .delete
    return CheckList(
        Check(source, on: .object, within: .parent),
        Check(rightToAdd(object.kind), on: destination(facts)),
        facts.target == nil ? nil : Check(.delete, on: .target, within: destination(facts)))
}

/// Both objects leave their directory, and both are added to the other's.
func exchangeChecks(_ facts: FactsByRole) -> CheckList? {
    guard let object = facts.object, let target = facts.target else { return nil }
    let destination = destination(facts)
    let moves = destination != .parent
    func leaving(_ kind: ObjectKind) -> Rights {
        moves && kind == .directory ? [.delete, .addSubdirectory] : .delete
    }
    return CheckList(
        Check(leaving(object.kind), on: .object, within: .parent),
        Check(leaving(target.kind), on: .target, within: destination),
        Check(rightToAdd(object.kind), on: destination),
        Check(rightToAdd(target.kind), on: .parent))
}
