import Authorization
import LinuxSystem
import SandboxPolicy

// How operations on names are judged on a confined mount (docs/sandbox-zones.md Z5 to Z10). Each rule is a loss of rights
// on one of the objects, so that the authorizer decides, and explains, in one place.

extension Parts {
    /// Z5: a name is looked up only where something may be done with what bears it. Whether there is such a name is not
    /// told elsewhere.
    init(finding name: UnsafePointer<CChar>, in directory: Loaded) {
        self.init(object: directory)
        guard directory.standing.policy != nil else { return }
        let place = directory.standing.below(name)
        if place.rights.isEmpty { remove(.search, on: .object, as: place, "") }
    }

    /// Z6: a new object is judged by where it will be.
    /// - Parameter name: nil for an object that gets none.
    init(creating kind: ObjectKind, _ name: UnsafePointer<CChar>?, in directory: Loaded) {
        self.init(parent: directory)
        guard directory.standing.policy != nil else { return }
        let place = name.map { directory.standing.below($0) } ?? directory.standing.unnamedBelow
        var adding = place.rights
        var reason = ""
        // Z7: a fixed place takes nothing but what is to stand there.
        if let zone = place.zone, let policy = place.policy, policy.table[zone].isFixed {
            if policy.table[zone].isForDirectory {
                adding.remove(.addFile)
                if directory.standing.rights.contains(.addSubdirectory) {
                    adding.insert(.addSubdirectory)
                    if kind != .directory { reason = "only a directory can be made here" }
                } else {
                    reason = "it is made through an unconfined mount"
                }
            } else if kind != .file {
                (adding, reason) = ([], "only a file can be made here")
            }
        }
        setAdding(adding, on: .parent, as: place, reason)
    }

    /// Z8: fixed places stay.
    init(removing object: Loaded, from directory: Loaded) {
        self.init(object: object, parent: directory)
        keepFixed(object.standing, .object)
    }

    private mutating func keepFixed(_ place: Standing, _ role: NodeRole) {
        if place.isFixed { remove(.delete, on: role, as: place, "stays where it is") }
    }

    /// Z9: nothing gets a name where more may be done with it.
    init(linking object: Loaded, as name: UnsafePointer<CChar>, in directory: Loaded) {
        self.init(object: object)
        setTargetParent(directory)
        guard object.standing.policy != nil else { return }
        let place = directory.standing.below(name)
        setAdding(
            place.isFixed ? [] : place.rights, on: .targetParent, as: place,
            place.isFixed ? "nothing can be linked here" : "")
        guard let policy = place.policy, policy === object.standing.policy, let to = place.zone,
            let from = object.standing.zone, policy.table.permitsLink(from: from, to: to)
        else {
            remove(.linkTarget, on: .object, as: object.standing, "more would be allowed under the new name")
            return
        }
    }

    /// Z9 and Z10. In one directory, the part of the new name's directory is played by the old one's.
    init(
        moving object: Loaded, from source: Loaded, to name: UnsafePointer<CChar>, in destination: Loaded, isSame: Bool,
        replacing target: Loaded?, exchanges: Bool
    ) {
        self.init(object: object, parent: source)
        if let target { setTarget(target) }
        if !isSame { setTargetParent(destination) }
        guard source.standing.policy != nil else { return }
        keepFixed(object.standing, .object)
        let place = destination.standing.below(name)
        let arrival: NodeRole = isSame ? .parent : .targetParent
        var adding = place.isFixed ? Rights() : place.rights
        if let target {
            keepFixed(target.standing, .target)
            if exchanges, isSame { adding.formIntersection(object.standing.rights) }
        }
        setAdding(adding, on: arrival, as: place, place.isFixed ? "nothing can be moved here" : "")
        if exchanges, !isSame { setAdding(object.standing.rights, on: .parent, as: object.standing) }
        judgeMove(object, .object, to: place)
        if exchanges, let target { judgeMove(target, .target, to: object.standing) }
    }

    private mutating func judgeMove(_ object: Loaded, _ role: NodeRole, to place: Standing) {
        guard let policy = place.policy, policy === object.standing.policy, let to = place.zone,
            let from = object.standing.zone, policy.table.permitsMove(from: from, to: to)
        else { return remove(.delete, on: role, as: object.standing, "more would be allowed in the new place") }
        guard policy.table.isWayOutOfInbox(from: from, to: to) else { return }
        // Z10: what has other names would be changed under them, too.
        if object.facts.kind != .directory, object.status.nlink > 1 {
            return remove(.delete, on: role, as: object.standing, "it has other links")
        }
        // To rewrite a directory's `..` is part of the move that is allowed.
        if object.facts.kind == .directory { add(.addSubdirectory, on: role) }
    }
}
