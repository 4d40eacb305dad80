// docs/authorization.md 2.2, the rows on rename; Q3 for directories that are replaced.

/// The part that the directory of the new name plays: a rename that stays is judged on `parent` alone.
private func destination(_ nodes: Nodes) -> NodeRole { nodes.targetParent == nil ? .parent : .targetParent }

/// Source: delete with its directory, and for a directory also the right to rewrite its `..`, asked as
/// one request, even when it stays where it is. Then the new name; then what it replaces.
func renameChecks(_ nodes: Nodes) -> CheckList? {
    guard let object = nodes.object else { return nil }
    let source: Rights = object.kind == .directory ? [.delete, .addSubdirectory] : .delete
    return CheckList(
        Check(source, on: .object, within: .parent),
        Check(rightToAdd(object.kind), on: destination(nodes)),
        nodes.target == nil ? nil : Check(.delete, on: .target, within: destination(nodes)))
}

/// Both leave their directory and both arrive in the other's.
func exchangeChecks(_ nodes: Nodes) -> CheckList? {
    guard let object = nodes.object, let target = nodes.target else { return nil }
    let destination = destination(nodes)
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
