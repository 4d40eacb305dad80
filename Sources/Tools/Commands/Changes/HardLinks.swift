import LinuxSystem

/// Objects with several names of which a walk has met some. A name elsewhere would get the change as well, and another user may have made
/// the link for that.
///
/// Two meetings may be one name that its owner has moved on meanwhile. A name is therefore known by its directory, and all names of an object
/// count only as long as its status does not change: each rename and each link changes that.
final class HardLinks: Sendable {
    struct Link {
        fileprivate var names: Set<Name>
        /// The last change of its status when the names were met.
        fileprivate let changed: Timespec
        var met: Int { names.count }
        let count: UInt32
        let path: [UInt8]
    }
    fileprivate struct Name: Hashable {
        let directory: ObjectIdentity
        let name: [UInt8]
    }
    private let met = Lock<[TreeIdentity: Link]>([:])

    /// Notes one name of an object.
    /// - Returns: whether the walk has met all of its names by now.
    func hasMetAllNames(of object: MetObject, _ files: LinuxFiles) -> Bool {
        if object.status.isDirectory || object.status.nlink <= 1 { return true }
        let identity = TreeIdentity(object.status)
        let found = present(object, files)
        return met.withLock { met in
            let status = found?.status ?? object.status
            var link = Link(names: [], changed: status.ctime, count: status.nlink, path: object.path)
            if let known = met[identity], known.changed == status.ctime { link = known }
            if let found { link.names.insert(found.name) }
            // Once: the names that follow find it changed.
            let isComplete = link.met >= Int(link.count)
            met[identity] = isComplete ? nil : link
            return isComplete
        }
    }

    /// Those with names that the walk has not met, in the order of their paths.
    var incomplete: [Link] {
        met.withLock { $0.values.sorted { $0.path.lexicographicallyPrecedes($1.path) } }
    }

    /// Looks the name up again, until the status of the object is older than the look-up: a change that follows gets another time.
    /// - Returns: nil if the object has lost the name, or changes all the time.
    private func present(_ object: MetObject, _ files: LinuxFiles) -> (name: Name, status: FileStatus)? {
        guard let directory = object.directory, let above = try? Syscall.statx(directory.rawValue) else { return nil }
        let own = object.path[((object.path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...]
        let name = Name(directory: ObjectIdentity(device: above.device, inode: above.inode), name: Array(own))
        for _ in 0..<Self.mostLooks {
            let time = SystemTime.coarse()
            guard let node = try? files.open(name.name, in: directory, followsLink: false),
                let status = try? Syscall.statx(node.rawValue, flags: AtFlag.forceSync),
                (status.device, status.inode) == (object.status.device, object.status.inode)
            else { return nil }
            if Self.isOlder(status.ctime, than: time) { return (name, status) }
            SystemTime.sleep(milliseconds: 5)
        }
        return nil
    }

    /// Some file systems store whole seconds.
    private static func isOlder(_ changed: Timespec, than time: Timespec) -> Bool {
        changed.nsec == 0 ? changed.sec + 1 < time.sec : changed < time
    }

    /// The clock of file systems has steps of ten milliseconds at most.
    private static let mostLooks = 5
}
