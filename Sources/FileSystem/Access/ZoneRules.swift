import Authorization
import LinuxSystem
import SandboxPolicy

// The rules of a confined mount for operations on names (docs/reference/sandbox-zones.md Z5 to Z10). Each rule takes rights from one of the
// objects, so that the authorizer alone decides and explains.

extension Operands {
    /// Z5: the caller finds a name only if the sandbox leaves some right on what bears it. Elsewhere the caller does not learn
    /// whether the name exists.
    init(finding name: UnsafePointer<CChar>, in directory: ObjectState) {
        self.init(object: directory)
        guard directory.location.policy != nil else { return }
        let location = directory.location.below(name)
        if location.rights.isEmpty { removeRights(.search, on: .object, by: location, "") }
    }

    /// Z6: the location that a new object will have decides.
    /// - Parameter name: nil for an object without a name.
    init(creating kind: ObjectKind, _ name: UnsafePointer<CChar>?, in directory: ObjectState) {
        self.init(parent: directory)
        guard directory.location.policy != nil else { return }
        let location = name.map { directory.location.below($0) } ?? directory.location.unnamedBelow
        var adding = location.rights
        var reason = ""
        // Z7: a fixed location takes only an object of its kind.
        if let zone = location.zone, let policy = location.policy, policy.table[zone].isFixed {
            if policy.table[zone].isForDirectory {
                adding.remove(.addFile)
                if directory.location.rights.contains(.addSubdirectory) {
                    adding.insert(.addSubdirectory)
                    if kind != .directory { reason = "only a directory can be made here" }
                } else {
                    reason = "it is made through an unconfined mount"
                }
            } else if kind != .file {
                (adding, reason) = ([], "only a file can be made here")
            }
        }
        setAddingRights(adding, on: .parent, by: location, reason)
    }

    /// Z8: an object at a fixed location is not removed.
    init(removing object: ObjectState, from directory: ObjectState) {
        self.init(object: object, parent: directory)
        keepFixed(object.location, .object)
    }

    private mutating func keepFixed(_ location: EffectiveLocation, _ role: ObjectRole) {
        if location.isFixed { removeRights(.delete, on: role, by: location, "stays where it is") }
    }

    /// Z9: an object gets no name that leaves more rights on it.
    init(linking object: ObjectState, as name: UnsafePointer<CChar>, in directory: ObjectState) {
        self.init(object: object)
        setTargetParent(directory)
        guard object.location.policy != nil else { return }
        let location = directory.location.below(name)
        setAddingRights(
            location.isFixed ? [] : location.rights, on: .targetParent, by: location,
            location.isFixed ? "nothing can be linked here" : "")
        guard let policy = location.policy, policy === object.location.policy, let to = location.zone,
            let from = object.location.zone, policy.table.permitsLink(from: from, to: to)
        else {
            removeRights(.linkTarget, on: .object, by: object.location, "more would be allowed under the new name")
            return
        }
    }

    /// Z9 and Z10.
    /// - Parameter isSame: both names are in one directory, which then has the role of the parent alone.
    init(
        moving object: ObjectState, from source: ObjectState, to name: UnsafePointer<CChar>, in destination: ObjectState, isSame: Bool,
        replacing target: ObjectState?, exchanges: Bool
    ) {
        self.init(object: object, parent: source)
        if let target { setTarget(target) }
        if !isSame { setTargetParent(destination) }
        guard source.location.policy != nil else { return }
        keepFixed(object.location, .object)
        let location = destination.location.below(name)
        let arrival: ObjectRole = isSame ? .parent : .targetParent
        var adding = location.isFixed ? Rights() : location.rights
        if let target {
            keepFixed(target.location, .target)
            if exchanges, isSame { adding.formIntersection(object.location.rights) }
        }
        setAddingRights(adding, on: arrival, by: location, location.isFixed ? "nothing can be moved here" : "")
        if exchanges, !isSame { setAddingRights(object.location.rights, on: .parent, by: object.location) }
        judgeMove(object, .object, to: location)
        if exchanges, let target { judgeMove(target, .target, to: object.location) }
    }

    private mutating func judgeMove(_ object: ObjectState, _ role: ObjectRole, to location: EffectiveLocation) {
        guard let policy = location.policy, policy === object.location.policy, let to = location.zone,
            let from = object.location.zone, policy.table.permitsMove(from: from, to: to)
        else { return removeRights(.delete, on: role, by: object.location, "more would be allowed in the new place") }
        guard policy.table.isMoveOutOfInbox(from: from, to: to) else { return }
        // Z10: the move would change what its other names lead to, too.
        if object.facts.kind != .directory, object.status.nlink > 1 {
            return removeRights(.delete, on: role, by: object.location, "it has other links")
        }
        // The move that is allowed rewrites the `..` of a directory.
        if object.facts.kind == .directory { addRights(.addSubdirectory, on: role) }
    }
}
