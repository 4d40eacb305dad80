import Authorization
import SandboxPolicy

/// The objects of one operation by the part they play: what the authorizer reads of each, and what the sandbox lets pass
/// on it (docs/sandbox-zones.md). How names and moves are judged stands in `ZoneRules.swift`.
struct Operands {
    private(set) var nodes: FactsByRole
    private(set) var confinement = Confinement()
    private var standings:
        (object: EffectiveLocation, parent: EffectiveLocation, target: EffectiveLocation, targetParent: EffectiveLocation)
    /// Why less passes than the places themselves would let pass.
    private var limits: [Limit] = []

    /// A rule about the operation as a whole, put as a loss of rights on one of its objects.
    struct Limit {
        var role: ObjectRole
        var rights: Rights
        var place: EffectiveLocation
        var reason: String
    }

    // One for each set of parts: an optional `ObjectState` would be copied whole.

    init(object: ObjectState) {
        nodes = FactsByRole(object: object.facts)
        standings = (object.location, .unconfined, .unconfined, .unconfined)
        confinement = Confinement(object: object.location.rights)
    }

    init(parent: ObjectState) {
        nodes = FactsByRole(parent: parent.facts)
        standings = (.unconfined, parent.location, .unconfined, .unconfined)
        confinement = Confinement(parent: parent.location.rights)
    }

    init(object: ObjectState, parent: ObjectState) {
        nodes = FactsByRole(object: object.facts, parent: parent.facts)
        standings = (object.location, parent.location, .unconfined, .unconfined)
        confinement = Confinement(object: object.location.rights, parent: parent.location.rights)
    }

    mutating func setTarget(_ target: ObjectState) {
        nodes.target = target.facts
        standings.target = target.location
        confinement.target = target.location.rights
    }

    mutating func setTargetParent(_ directory: ObjectState) {
        nodes.targetParent = directory.facts
        standings.targetParent = directory.location
        confinement.targetParent = directory.location.rights
    }

    /// The same with other facts of the object.
    func with(_ facts: ObjectFacts) -> Operands {
        var parts = self
        parts.nodes.object = facts
        return parts
    }

    /// What may be added to a directory is what the new name's own place says, whatever the directory's does.
    mutating func setAdding(_ rights: Rights, on role: ObjectRole, as place: EffectiveLocation, _ reason: String = "") {
        let adding: Rights = [.addFile, .addSubdirectory]
        confinement[role].subtract(adding)
        confinement[role].formUnion(rights.intersection(adding))
        limits.append(Limit(role: role, rights: adding.subtracting(rights), place: place, reason: reason))
    }

    mutating func remove(_ rights: Rights, on role: ObjectRole, as place: EffectiveLocation, _ reason: String) {
        confinement[role].subtract(rights)
        limits.append(Limit(role: role, rights: rights, place: place, reason: reason))
    }

    mutating func add(_ rights: Rights, on role: ObjectRole) { confinement[role].formUnion(rights) }

    /// The rule by which the sandbox refused on account of one object.
    func rule(on role: ObjectRole) -> String {
        if let limit = limits.last(where: { $0.role == role && !$0.rights.isEmpty }) {
            return limit.reason.isEmpty ? limit.place.rule : "\(limit.place.rule): \(limit.reason)"
        }
        switch role {
        case .object: return standings.object.rule
        case .parent: return standings.parent.rule
        case .target: return standings.target.rule
        case .targetParent: return standings.targetParent.rule
        }
    }
}
