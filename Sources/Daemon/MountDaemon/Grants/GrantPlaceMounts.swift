import ACLFormats
import BackingStore
import LinuxSystem
import ToolSupport

extension GrantPlace {
    /// - Returns: the path of the directory in a tree; nil if it lies elsewhere. `places` has its paths through bind mounts.
    /// - Throws: an ancestor cannot be opened.
    func names(inside tree: BackingTree) throws(Errno) -> [[UInt8]]? {
        let path = self.path.utf8.pathNames
        let depth = basePath.split(separator: "/").count
        var level = 0
        var found: [[UInt8]]?
        try Syscall.visitAncestors(of: base.rawValue) { status in
            if status.device == tree.root.key.device, status.inode == tree.root.key.inode {
                found = Array(path.dropFirst(depth - level))
            }
            level += 1
            return found == nil && level <= depth
        }
        return found
    }

    /// - Returns: every path in a tree that shows the directory, through bind mounts of it, of an ancestor or of a part too. Later mounts
    ///   are not known.
    /// - Throws: the mount table cannot be read, or the directory is in none of its mounts.
    func places(inside tree: BackingTree) throws(Errno) -> [[[UInt8]]] {
        var places: [[[UInt8]]] = []
        if let lies = try names(inside: tree) { places.append(lies) }
        let mounts = try MountInfo.ofThisProcess()
        guard let own = try ownMount(in: mounts), let store = path.utf8.pathNames.below(own.path.pathNames) else {
            throw .noent
        }
        let stored = own.shownPath.pathNames + store
        let top = try tree.descriptor(of: tree.root)
        let source = try Syscall.readlinkat(top.rawValue, "/proc/self/fd/\(top.rawValue)").pathNames
        for mount in mounts where mount.device == own.device {
            guard let place = mount.path.pathNames.below(source), !place.isEmpty else { continue }
            let shown = mount.shownPath.pathNames
            if let rest = stored.below(shown) {
                places.append(place + rest)
            } else if shown.below(stored) != nil {
                places.append(place)
            }
        }
        return places
    }

    /// The mount that the directory lies on.
    private func ownMount(in mounts: [MountInfo]) throws(Errno) -> MountInfo? {
        let id = try Syscall.statx(base.rawValue, flags: AtFlag.dontSync).mountID
        if let mount = mounts.first(where: { $0.id == id }) { return mount }
        // Linux before 5.8 reports no mount id: then the last of the longest paths that lead to it.
        let base = basePath.utf8.pathNames
        var best: MountInfo?
        for mount in mounts where base.starts(with: mount.path.pathNames) {
            if mount.path.pathNames.count >= best?.path.pathNames.count ?? 0 { best = mount }
        }
        return id == 0 ? best : nil
    }
}

extension [[UInt8]] {
    /// - Returns: the rest of a path after another; nil if it does not begin with that.
    fileprivate func below(_ other: [[UInt8]]) -> [[UInt8]]? {
        starts(with: other) ? Array(dropFirst(other.count)) : nil
    }
}
