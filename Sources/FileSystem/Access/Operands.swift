import Authorization
import SandboxPolicy

/// The objects of one operation by role: the facts that the authorizer reads of each, and the rights that the sandbox leaves on it
/// (docs/reference/sandbox-zones.md). The rules for names and moves are in `ZoneRules.swift`.
struct Operands {
    private(set) var facts: FactsByRole
    private(set) var confinement = Confinement()
    private var locations:
        (object: EffectiveLocation, parent: EffectiveLocation, target: EffectiveLocation, targetParent: EffectiveLocation)
    /// Rules that leave less than the locations alone.
    private var limits: [Limit] = []

    /// A rule about the operation as a whole, expressed as rights that one of its objects loses.
    struct Limit {
        var role: ObjectRole
        var rights: Rights
        /// The location whose rule it is.
        var location: EffectiveLocation
        /// Follows the location's rule in explanations; may be empty.
        var reason: String
    }

    // One initializer for each set of roles: an optional `ObjectState` would be copied whole.

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

    /// A copy with other facts of the object.
    func replacingFacts(with objectFacts: ObjectFacts) -> Operands {
        var operands = self
        operands.facts.object = objectFacts
        return operands
    }

    /// Sets what the sandbox lets the caller add to a directory: the location of the new name says it, not the directory's.
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

    /// The rule by which the sandbox denies, for the object with this role.
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
