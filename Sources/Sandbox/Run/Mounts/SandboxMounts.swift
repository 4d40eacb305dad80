import ACLFormats
import Glibc
import LinuxSystem

/// The mount table of this namespace as a graph: which mount stands on which, who serves it, and whether an overmount stays on it.
struct SandboxMounts {
    private(set) var table: [MountInfo] = []
    private var byNumber: [UInt64: MountInfo] = [:]
    private let uid = geteuid()

    mutating func read() throws(Errno) {
        table = try MountInfo.ofThisProcess()
        byNumber = Dictionary(table.map { ($0.id, $0) }) { $1 }
    }

    private mutating func mount(_ number: UInt64) throws(Errno) -> MountInfo {
        if byNumber[number] == nil { try read() }
        // The mount was unmounted after the walk reached it.
        guard let mount = byNumber[number] else { throw .stale }
        return mount
    }

    /// - Parameter isFirst: which mounts come first, after the mounts on them.
    /// - Returns: every mount, after all mounts that stand on it.
    func innermostFirst(_ isFirst: (MountInfo) -> Bool) -> [MountInfo] {
        let children = Dictionary(grouping: table.indices) { table[$0].parent }
        var order: [MountInfo] = []
        var isMet = [Bool](repeating: false, count: table.count)
        for start in table.indices.filter({ isFirst(table[$0]) }) + Array(table.indices) {
            // A depth-first walk: a mount is appended after its children.
            var path = [(index: start, isLeft: false)]
            while let (index, isLeft) = path.popLast() {
                if isLeft {
                    order.append(table[index])
                } else if !isMet[index] {
                    isMet[index] = true
                    path.append((index, true))
                    path += (children[table[index].id] ?? []).reversed().map { ($0, false) }
                }
            }
        }
        return order
    }

    /// - Returns: a mount, then its parent, and so on to the root.
    func chain(of mount: MountInfo) -> [MountInfo] {
        var chain = [mount]
        while let last = chain.last, let parent = byNumber[last.parent], !chain.contains(where: { $0.id == parent.id }) {
            chain.append(parent)
        }
        return chain
    }

    /// Whether `mount` is the mount with this id or one of its descendants.
    func isBelow(_ mount: MountInfo, _ number: UInt64) -> Bool {
        chain(of: mount).contains { $0.id == number }
    }

    /// Whether the mount with this id is `mount` or one of its descendants.
    mutating func stands(_ number: UInt64, on mount: MountInfo) throws(Errno) -> Bool {
        let upper = try self.mount(number)
        return chain(of: upper).contains { $0.id == mount.id }
    }

    /// Whether a hidden mount stays hidden, whatever the command renames. It does if the mount that hides it stands on the top of
    /// one of its ancestors, or on the directory that holds its name: the kernel lets no mount point be renamed.
    /// - Parameter byNames: whether the second case counts. It holds in this namespace only.
    func staysHidden(_ mount: MountInfo, byNames: Bool) -> Bool {
        let chain = chain(of: mount)
        return zip(chain, chain.dropFirst()).contains { borne, bearing in
            table.contains { upper in
                guard upper.parent == bearing.id, !chain.contains(where: { $0.id == upper.id }) else { return false }
                if upper.path == bearing.path { return keepsOvermounts(of: bearing, isTop: true) }
                return byNames && bearing.hasStableNames && borne.path.pathNames.dropLast() == upper.path.pathNames[...]
            }
        }
    }

    /// - Returns: the mount on a name of `parent` that bears the mount of a number; nil if there is none. When the kernel drops the
    ///   name, both are detached.
    mutating func lowest(below number: UInt64, on parent: UInt64) throws(Errno) -> UInt64? {
        let upper = try mount(number)
        return chain(of: upper).first { $0.parent == parent }?.id
    }

    // MARK: Whether overmounts stay

    /// Whether an overmount of an object stays attached. On the root of a file system it always does.
    /// - Parameter isTop: whether the object is the top of its mount; then it gets no statx.
    mutating func keepsOvermounts(_ object: Int32, isTop: Bool) throws(Errno) -> Bool {
        let mount = try mount(Syscall.mountID(of: object))
        if mount.hasStableNames { return true }
        if !mount.root.elementsEqual("/".utf8) { return false }
        return isTop || (try? Syscall.statx(object, flags: AtFlag.dontSync))?.isMountRoot == true
    }

    /// The same for an object that is hidden and cannot be opened.
    /// - Parameter isTop: whether it is the top of the mount.
    func keepsOvermounts(of mount: MountInfo, isTop: Bool) -> Bool {
        mount.hasStableNames || isTop && mount.root.elementsEqual("/".utf8)
    }

    /// Whether a mount on a name of this mount stays attached.
    mutating func keepsNames(_ number: UInt64) throws(Errno) -> Bool { try mount(number).hasStableNames }

    /// Whether a revocation by aclfs detaches the mounts on its names.
    mutating func isRevocable(_ number: UInt64) throws(Errno) -> Bool { try mount(number).type.starts(with: "fuse.aclfs".utf8) }

    /// - Returns: as `MountInfo.device`.
    mutating func device(_ number: UInt64) throws(Errno) -> UInt64 { try mount(number).device }

    mutating func parent(_ number: UInt64) throws(Errno) -> UInt64 { try mount(number).parent }

    /// Records a new bind mount.
    /// - Parameters:
    ///   - shown: the mount that it is a copy of.
    ///   - parent: the mount that it stands on.
    mutating func note(_ number: UInt64, like shown: UInt64, on parent: UInt64) {
        guard var copy = byNumber[shown] else { return }
        (copy.id, copy.parent) = (number, parent)
        byNumber[number] = copy
    }

    // MARK: Owners

    /// Whether a user other than root and the caller serves it. A request to it may wait for ever.
    mutating func isOfAnotherUser(_ number: UInt64) throws(Errno) -> Bool { try mount(number).isOfAnotherUser(than: uid) }

    /// Whether the kernel admits only the user who mounted it, and that is not the caller.
    mutating func refusesCaller(_ number: UInt64) throws(Errno) -> Bool { try mount(number).refuses(uid) }
}
