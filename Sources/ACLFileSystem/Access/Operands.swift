import Authorization
import SandboxPolicy

/// The objects of one operation by the part they play: what the authorizer reads of each, and what the sandbox lets pass
/// on it (docs/sandbox-zones.md). How names and moves are judged stands in `ZoneRules.swift`.
struct Operands {
    private(set) var facts: FactsByRole
    private(set) var confinement = Confinement()
    private var locations:
        (object: EffectiveLocation, parent: EffectiveLocation, target: EffectiveLocation, targetParent: EffectiveLocation)
    /// Why less passes than the places themselves would let pass.
    private var limits: [Limit] = []

    /// A rule about the operation as a whole, put as a loss of rights on one of its objects.
    struct Limit {
        var role: ObjectRole
        var rights: Rights
        /// The location whose rule it is.
        var location: EffectiveLocation
        /// Follows the location's rule in explanations; may be empty.
        var reason: String
    }

    // One for each set of parts: an optional `ObjectState` would be copied whole.

    init(object: ObjectState) {
        facts = FactsByRole(object: object.facts)
        locations = (object.location, .unconfined, .unconfined, .unconfined)
        confinement = Confinement(object: object.location.rights)
    }

    init(parent: ObjectState) {
        facts = FactsByRole(parent: parent.facts)
        locations = (.unconfined, parent.location, .unconfined, .unconfined)
        confinement = Confinement(parent: parent.location.rights)
    }

    init(object: ObjectState, parent: ObjectState) {
        facts = FactsByRole(object: object.facts, parent: parent.facts)
        locations = (object.location, parent.location, .unconfined, .unconfined)
        confinement = Confinement(object: object.location.rights, parent: parent.location.rights)
    }

    mutating func setTarget(_ target: ObjectState) {
        facts.target = target.facts
        locations.target = target.location
        confinement.target = target.location.rights
    }

    mutating func setTargetParent(_ directory: ObjectState) {
        facts.targetParent = directory.facts
        locations.targetParent = directory.location
        confinement.targetParent = directory.location.rights
    }

    /// The same with other facts of the object.
    func replacingFacts(with objectFacts: ObjectFacts) -> Operands {
        var operands = self
        operands.facts.object = objectFacts
        return operands
    }

    /// What may be added to a directory is what the new name's own place says, whatever the directory's does.
    mutating func setAddingRights(_ rights: Rights, on role: ObjectRole, by location: EffectiveLocation, _ reason: String = "") {
        let adding: Rights = [.addFile, .addSubdirectory]
        confinement[role].subtract(adding)
        confinement[role].formUnion(rights.intersection(adding))
        limits.append(Limit(role: role, rights: adding.subtracting(rights), location: location, reason: reason))
    }

    mutating func removeRights(_ rights: Rights, on role: ObjectRole, by location: EffectiveLocation, _ reason: String) {
        confinement[role].subtract(rights)
        limits.append(Limit(role: role, rights: rights, location: location, reason: reason))
    }

    mutating func addRights(_ rights: Rights, on role: ObjectRole) { confinement[role].formUnion(rights) }

    /// The rule by which the sandbox refused on account of one object.
    func rule(on role: ObjectRole) -> String {
        if let limit = limits.last(where: { $0.role == role && !$0.rights.isEmpty }) {
            return limit.reason.isEmpty ? limit.location.rule : "\(limit.location.rule): \(limit.reason)"
        }
        switch role {
        case .object: return locations.object.rule
        case .parent: return locations.parent.rule
        case .target: return locations.target.rule
        case .targetParent: return locations.targetParent.rule
        }
    }
}
