import ACLFormats
import BackingStore
import LinuxSystem
import ToolSupport

extension GrantPlace {
    /// Where it lies in a tree, if it does (`places` has where else it is seen there).
    /// - Throws: if that cannot be found out.
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

    /// Every place of a tree where it is seen: where it lies, and wherever a bind mount shows it, a directory around it or
    /// something in it. What is mounted later is not known.
    /// - Throws: if that cannot be found out.
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

    /// The mount that its directory lies on.
    private func ownMount(in mounts: [MountInfo]) throws(Errno) -> MountInfo? {
        let id = try Syscall.statx(base.rawValue, flags: AtFlag.dontSync).mountID
        if let mount = mounts.first(where: { $0.id == id }) { return mount }
        // Before Linux 5.8 no number is told: then the last of the longest paths that lead to it.
        let base = basePath.utf8.pathNames
        var best: MountInfo?
        for mount in mounts where base.starts(with: mount.path.pathNames) {
            if mount.path.pathNames.count >= best?.path.pathNames.count ?? 0 { best = mount }
        }
        return id == 0 ? best : nil
    }
}

extension [[UInt8]] {
    /// What is left of a path behind another; nil if it does not lead there.
    fileprivate func below(_ other: [[UInt8]]) -> [[UInt8]]? {
        starts(with: other) ? Array(dropFirst(other.count)) : nil
    }
}
