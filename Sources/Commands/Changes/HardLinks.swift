import LinuxSystem

/// Objects with several names of which a walk has met some. A name elsewhere would get the change as well, and another user may have made
/// the link for that.
final class HardLinks: Sendable {
    struct Link {
        var met: UInt32
        let count: UInt32
        let path: [UInt8]
    }
    private let met = Lock<[TreeIdentity: Link]>([:])

    /// Notes one name of an object.
    /// - Returns: whether the walk has met all of its names by now.
    func hasMetAllNames(of object: MetObject) -> Bool {
        let status = object.status
        if status.isDirectory || status.nlink <= 1 { return true }
        let identity = TreeIdentity(status)
        return met.withLock { met in
            var link = met[identity] ?? Link(met: 0, count: status.nlink, path: object.path)
            link.met += 1
            // Once: the names that follow find it changed.
            let isComplete = link.met >= status.nlink
            met[identity] = isComplete ? nil : link
            return isComplete
        }
    }

    /// Those with names that the walk has not met, in the order of their paths.
    var incomplete: [Link] {
        met.withLock { $0.values.sorted { $0.path.lexicographicallyPrecedes($1.path) } }
    }
}
