/// The result of deletion by entries (docs/reference/authorization.md 4): the object's list for `delete`, and if that is silent the
/// directory's list for `delete_child`.
///
/// | object | directory | result |
/// |---|---|---|
/// | deny | any | refused |
/// | allow | any | allowed; mode bits and sticky bit do not count |
/// | silent | deny | refused |
/// | silent | allow | allowed; the sticky bit does not count |
/// | silent | silent | w on the directory, then the sticky bit |
enum DeleteByEntries {
    case refused(Decision)
    case allowed(Stage)
    case silent
}

extension Inquiry {
    mutating func deleteByEntries(
        _ object: ObjectFacts, _ role: ObjectRole, _ parent: ObjectFacts, _ parentRole: ObjectRole, _ lift: Lift
    ) -> DeleteByEntries {
        switch scan(.delete, object, as: role) {
        case .denied(let index):
            if !lift.passesObject { return .refused(.deny(.EACCES, .entry(role, index))) }
        case .allowed(let index): return .allowed(.entry(role, index))
        case .undecided: break
        }
        switch scan(.deleteChild, parent, as: parentRole) {
        case .denied(let index): return lift.passesDirectory ? .silent : .refused(.deny(.EACCES, .entry(parentRole, index)))
        case .allowed(let index): return .allowed(.entry(parentRole, index))
        case .undecided: return .silent
        }
    }

    /// Decides where both lists are silent: w on the directory for the caller's class, then the sticky bit. An owner of the object
    /// without this w is refused.
    mutating func deleteByMode(
        _ object: ObjectFacts, _ parent: ObjectFacts, _ parentRole: ObjectRole, _ lift: Lift
    ) -> Decision {
        let decision =
            lift.passesDirectory
            ? .allow(.capability(.dacOverride)) : modeDecision(2, parent, as: parentRole, owner: ownership(of: parent))
        if !decision.isAllowed { return decision }
        if parent.mode.contains(.sticky), !lift.passesSticky, ownership(of: object) != .member, ownership(of: parent) != .member {
            return .deny(.EACCES, .sticky)
        }
        return decision
    }
}
