import ACLFormats
import Glibc
import LinuxSystem

/// The mounts of this namespace by their numbers, as far as a walk has to know whom it would ask.
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
        // What is met and stands in no table is taken away just now.
        guard let mount = byNumber[number] else { throw .stale }
        return mount
    }

    /// Every mount after those that stand on it, and first of all those that `isFirst` says, with what stands on them.
    func innermostFirst(_ isFirst: (MountInfo) -> Bool) -> [MountInfo] {
        let children = Dictionary(grouping: table.indices) { table[$0].parent }
        var order: [MountInfo] = []
        var isMet = [Bool](repeating: false, count: table.count)
        for start in table.indices.filter({ isFirst(table[$0]) }) + Array(table.indices) {
            // A mount is left for those on it once, and taken when they are done.
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

    /// The mounts that a mount stands on, one on the other, itself first.
    func chain(of mount: MountInfo) -> [MountInfo] {
        var chain = [mount]
        while let last = chain.last, let parent = byNumber[last.parent], !chain.contains(where: { $0.id == parent.id }) {
            chain.append(parent)
        }
        return chain
    }

    /// Whether a mount stands on another, or on what stands on it, or is it.
    mutating func isBelow(_ mount: MountInfo, _ number: UInt64) throws(Errno) -> Bool {
        chain(of: mount).contains { $0.id == number }
    }

    /// Whether one of the number stands on a mount.
    mutating func stands(_ number: UInt64, on mount: MountInfo) throws(Errno) -> Bool {
        let upper = try self.mount(number)
        return chain(of: upper).contains { $0.id == mount.id }
    }

    /// Whether a mount stays hidden, whatever is renamed inside: what hides it stands on the very top of one that bears it and goes
    /// where that goes, or on the directory in which it has its name, and neither name can be changed as long as something stands there.
    /// - Parameter byNames: whether the second counts, which holds in this namespace only.
    func staysHidden(_ mount: MountInfo, byNames: Bool) -> Bool {
        let chain = chain(of: mount)
        return zip(chain, chain.dropFirst()).contains { borne, bearing in
            table.contains { upper in
                guard upper.parent == bearing.id, !chain.contains(where: { $0.id == upper.id }) else { return false }
                if upper.path == bearing.path { return keepsCovers(of: bearing, isTop: true) }
                return byNames && bearing.hasStableNames && borne.path.pathNames.dropLast() == upper.path.pathNames[...]
            }
        }
    }

    /// Of the mounts that stand one on the other on a name, the first: it takes the others along when the name falls.
    mutating func lowest(below number: UInt64, standingOn parent: UInt64) throws(Errno) -> UInt64? {
        let upper = try mount(number)
        return chain(of: upper).first { $0.parent == parent }?.id
    }

    // MARK: What stays

    /// Whether what is mounted on an object stays. On the top of a file system it always does.
    /// - Parameter isTop: of its mount, which need not be asked then.
    mutating func keepsCovers(_ object: Int32, isTop: Bool) throws(Errno) -> Bool {
        let mount = try mount(Syscall.mountID(of: object))
        if mount.hasStableNames { return true }
        if !mount.root.elementsEqual("/".utf8) { return false }
        return isTop || (try? Syscall.statx(object, flags: AtFlag.dontSync))?.isMountRoot == true
    }

    /// The same of what is hidden, so that nobody can open it.
    /// - Parameter isTop: whether it is the top of the mount.
    func keepsCovers(of mount: MountInfo, isTop: Bool) -> Bool {
        mount.hasStableNames || isTop && mount.root.elementsEqual("/".utf8)
    }

    /// Whether what is mounted on names of a mount stays.
    mutating func keepsNames(_ number: UInt64) throws(Errno) -> Bool { try mount(number).hasStableNames }

    /// Whether a revocation of ours takes away what is mounted on its names.
    mutating func isRevocable(_ number: UInt64) throws(Errno) -> Bool { try mount(number).type.starts(with: "fuse.aclfs".utf8) }

    /// - Returns: as `MountInfo.device`.
    mutating func device(_ number: UInt64) throws(Errno) -> UInt64 { try mount(number).device }

    mutating func parent(_ number: UInt64) throws(Errno) -> UInt64 { try mount(number).parent }

    /// What was just mounted, like what it shows and on it.
    mutating func note(_ number: UInt64, like shown: UInt64, on parent: UInt64) {
        guard var copy = byNumber[shown] else { return }
        (copy.id, copy.parent) = (number, parent)
        byNumber[number] = copy
    }

    // MARK: Whose they are

    /// Whether somebody else serves it, neither root nor this user: a walk through it may wait for him for ever.
    mutating func isStrangers(_ number: UInt64) throws(Errno) -> Bool { try mount(number).isStrangers(to: uid) }

    /// Whether it lets nobody in but who mounted it, and that is not this user.
    mutating func keepsOut(_ number: UInt64) throws(Errno) -> Bool { try mount(number).keepsOut(uid) }
}
