import Authorization
import SandboxPolicy

/// The objects of one operation by the part they play: what the authorizer reads of each, and what the sandbox lets pass
/// on it (docs/sandbox-zones.md). How names and moves are judged stands in `ZoneRules.swift`.
struct Parts {
    private(set) var nodes: Nodes
    private(set) var confinement = Confinement()
    private var standings: (object: Standing, parent: Standing, target: Standing, targetParent: Standing)
    /// Why less passes than the places themselves would let pass.
    private var limits: [Limit] = []

    /// A rule about the operation as a whole, put as a loss of rights on one of its objects.
    struct Limit {
        var role: NodeRole
        var rights: Rights
        var place: Standing
        var reason: String
    }

    // One for each set of parts: an optional `Loaded` would be copied whole.

    init(object: Loaded) {
        nodes = Nodes(object: object.facts)
        standings = (object.standing, .unconfined, .unconfined, .unconfined)
        confinement = Confinement(object: object.standing.rights)
    }

    init(parent: Loaded) {
        nodes = Nodes(parent: parent.facts)
        standings = (.unconfined, parent.standing, .unconfined, .unconfined)
        confinement = Confinement(parent: parent.standing.rights)
    }

    init(object: Loaded, parent: Loaded) {
        nodes = Nodes(object: object.facts, parent: parent.facts)
        standings = (object.standing, parent.standing, .unconfined, .unconfined)
        confinement = Confinement(object: object.standing.rights, parent: parent.standing.rights)
    }

    mutating func setTarget(_ target: Loaded) {
        nodes.target = target.facts
        standings.target = target.standing
        confinement.target = target.standing.rights
    }

    mutating func setTargetParent(_ directory: Loaded) {
        nodes.targetParent = directory.facts
        standings.targetParent = directory.standing
        confinement.targetParent = directory.standing.rights
    }

    /// The same with other facts of the object.
    func with(_ facts: ObjectFacts) -> Parts {
        var parts = self
        parts.nodes.object = facts
        return parts
    }

    /// What may be added to a directory is what the new name's own place says, whatever the directory's does.
    mutating func setAdding(_ rights: Rights, on role: NodeRole, as place: Standing, _ reason: String = "") {
        let adding: Rights = [.addFile, .addSubdirectory]
        confinement[role].subtract(adding)
        confinement[role].formUnion(rights.intersection(adding))
        limits.append(Limit(role: role, rights: adding.subtracting(rights), place: place, reason: reason))
    }

    mutating func remove(_ rights: Rights, on role: NodeRole, as place: Standing, _ reason: String) {
        confinement[role].subtract(rights)
        limits.append(Limit(role: role, rights: rights, place: place, reason: reason))
    }

    mutating func add(_ rights: Rights, on role: NodeRole) { confinement[role].formUnion(rights) }

    /// The rule by which the sandbox refused on account of one object.
    func rule(on role: NodeRole) -> String {
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
