/// Deletion, as far as the entries decide it (docs/authorization.md 4): the item's list for `delete`, and
/// if that is silent the directory's for `delete_child`.
///
/// | item | directory | result |
/// |---|---|---|
/// | deny | any | refused |
/// | allow | any | decided, mode bits and sticky are not asked |
/// | silent | deny | refused |
/// | silent | allow | decided, sticky is overridden |
/// | silent | silent | w on the directory, then sticky |
enum DeleteByEntries {
    case refused(Decision)
    case allowed(Stage)
    case silent
}

extension Inquiry {
    mutating func deleteByEntries(
        _ object: ObjectFacts, _ role: NodeRole, _ parent: ObjectFacts, _ parentRole: NodeRole
    ) -> DeleteByEntries {
        switch scan(.delete, object, as: role) {
        case .denied(let index): return .refused(.deny(.EACCES, .entry(role, index)))
        case .allowed(let index): return .allowed(.entry(role, index))
        case .undecided: break
        }
        switch scan(.deleteChild, parent, as: parentRole) {
        case .denied(let index): return .refused(.deny(.EACCES, .entry(parentRole, index)))
        case .allowed(let index): return .allowed(.entry(parentRole, index))
        case .undecided: return .silent
        }
    }

    /// What remains when both lists are silent: w on the directory for the caller's class, then the
    /// sticky rule. Owning the item does not replace the missing w.
    mutating func deleteByMode(
        _ object: ObjectFacts, _ parent: ObjectFacts, _ parentRole: NodeRole
    ) -> Decision {
        let decision = modeDecision(2, parent, as: parentRole, owner: ownership(of: parent))
        if !decision.isAllowed { return decision }
        if parent.mode.contains(.sticky), ownership(of: object) != .member, ownership(of: parent) != .member {
            return .deny(.EACCES, .sticky)
        }
        return decision
    }
}
