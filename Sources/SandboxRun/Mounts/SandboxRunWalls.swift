import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// The first namespace: everything through which the share or its backing directory can be seen is covered, by the view
/// where it shows the same, by an empty directory elsewhere.
///
/// Nothing here is trusted to stay as it was looked at: when all that the mount table shows is covered it is read anew, until
/// there is nothing left to do, and that is the proof.
struct SandboxWalls {
    let places: SandboxPlaces
    private var covers: SandboxCovers
    private var mounts = SandboxMounts()
    /// As it was before anything was covered.
    private var first: [MountInfo] = []
    private let uid = geteuid()
    /// Where the tops of our pins lay in their file systems when they were made, whatever they are called meanwhile; nil where the
    /// table is believed.
    private var pinned: [UInt64: [[UInt8]]?] = [:]
    /// First all is covered that is seen, then it is pinned: what a pin hides is covered.
    private var isPinning = false
    private let viewDevice: UInt64?
    /// What was not seen although nothing of ours was in the way.
    private var unseen: Set<SandboxSpot> = []
    /// What should have been met and was not.
    private var missing: String?

    /// Besides the share: where grants are kept and where control sockets lie. Nothing must come to stand at their paths
    /// instead.
    private let kept: [SandboxPlaces.Place]

    private let doors: SandboxDoors

    init(places: SandboxPlaces, sockets: [SandboxPlaces.Place], doors: SandboxDoors, view: Int32) {
        (self.places, kept, self.doors) = (places, places.stores + sockets, doors)
        covers = SandboxCovers(view: view)
        viewDevice = try? Syscall.statx(view, flags: AtFlag.dontSync).device
    }

    /// More steps than any mount table needs; each covers something.
    private static let most = 10_000

    mutating func raise() throws(SandboxRunFailure) {
        var count = 0
        var patience = 10
        while count < Self.most {
            missing = nil
            let covered = try coverAll()
            if let missing {
                // Whoever renames what lies above it for a moment is waited for.
                guard patience > 0 else {
                    throw SandboxRunFailure(
                        "\(missing) is not where its mount says; does somebody rename what lies above it? Nothing is started while "
                            + "nobody can say what to cover")
                }
                patience -= 1
                SystemTime.sleep(milliseconds: 20)
            } else if covered == 0 {
                if isPinning { return }
                isPinning = true
            }
            count += covered
        }
        throw SandboxRunFailure("the mount table does not come to rest; is something mounting all the time?")
    }

    /// All that one reading of the table shows.
    /// - Returns: how much there was to cover.
    private mutating func coverAll() throws(SandboxRunFailure) -> Int {
        do throws(Errno) { try mounts.read() } catch { throw SandboxRunFailure("/proc/self/mountinfo", error) }
        if first.isEmpty { first = mounts.table }
        var count = 0
        // What covers a place hides what stands below it, which has to be covered before. The view comes first, for the others are
        // parts of it.
        let order = mounts.innermostFirst { mount in
            mount.root.elementsEqual("/".utf8) && places.mounts.contains { $0.isSame && $0.device == mount.device }
        }
        for mount in order where !isOurs(mount) {
            for sight in places.sights(of: mount, root: root(of: mount), kept: kept, uid: uid) {
                steps: while count < Self.most {
                    switch try cover(sight) {
                    case .notSeen: break steps
                    case .covered:
                        count += 1
                        break steps
                    case .onTheWay: count += 1
                    }
                }
            }
        }
        return count
    }

    private func root(of mount: MountInfo) -> [[UInt8]] { pinned[mount.id].flatMap { $0 } ?? mount.shownPath.pathNames }

    // MARK: One place

    private enum Outcome {
        case notSeen, covered
        /// Something above it, and there may be more.
        case onTheWay
    }

    private mutating func cover(_ sight: SandboxSight) throws(SandboxRunFailure) -> Outcome {
        let way: SandboxWalk
        let isLasting: Bool
        let isBehindOurs: Bool
        let danger: String?
        do throws(Errno) {
            way = try SandboxWalk(
                sight.mount, sight.names, among: &mounts, uid: uid, pinning: pinning(of: sight), fromRoot: sight.isKept)
            isBehindOurs = try crossesOurs(way, to: sight)
            isLasting = try staysCovered(way, sight)
            danger = try isBehindOurs ? dangerBehindOurs(way, sight) : dangerUncovered(way, sight)
        } catch { throw SandboxRunFailure(shown(sight), error) }
        if isBehindOurs {
            if let danger { throw SandboxRunFailure(danger) }
            return .notSeen
        }
        if !isLasting {
            if sight.isOptional {
                unseen.insert(sight.spot)
                return .notSeen
            }
            throw SandboxRunFailure(notLasting(sight))
        }
        if let danger { throw SandboxRunFailure(danger) }
        do throws(Errno) {
            switch way.end {
            case .hidden, .covered, .buried:
                unseen.insert(sight.spot)
                return .notSeen
            case .closed(let door):
                unseen.insert(sight.spot)
                // The view is going to stand there.
                if try isShare(door) { return .notSeen }
                // Nobody here may pass; covered, it stays closed should its mode change.
                try covers.close(door)
            case .movable(let directory, let depth):
                // Moved to below a bind mount, it would show what lies in it without its cover. A mount's top stays.
                let copy = try Syscall.cloneTree(directory.rawValue)
                try Syscall.attach(mount: copy.rawValue, onto: directory.rawValue)
                let (pin, below) = (try Syscall.mountID(of: copy.rawValue), try Syscall.mountID(of: directory.rawValue))
                pinned[pin] = .some(depth.map { root(of: sight.mount) + sight.names.prefix($0) })
                mounts.note(pin, like: below, on: below)
            case .strangers(let outer):
                // What lies below is not looked for.
                unseen.insert(sight.spot)
                try covers.close(outer)
            case .dead(let outer):
                unseen.insert(sight.spot)
                if try isShare(outer) { return .notSeen }
                try covers.close(outer)
            case .root:
                throw Errno.busy
            case .visible(let object) where try isAnother(object, sight):
                missing = shown(sight)
                return .notSeen
            case .missing:
                if !sight.isOptional { missing = shown(sight) }
                return .notSeen
            case .visible(let object):
                try covers.cover(object, at: sight.spot, with: sight.cover)
                return .covered
            }
            return .onTheWay
        } catch {
            if case .root = way.end {
                throw SandboxRunFailure("\(shown(sight)) is the root directory here, which nothing can be mounted over")
            }
            // The kernel mounts nothing on a directory or file that its caches have dropped, or that was removed.
            if error == .noent {
                throw SandboxRunFailure(
                    "\(shown(sight)) is a bind mount that shows a part of the share or of its backing directory, and the kernel "
                        + "lets nothing be mounted over it; unmount it, or mount it anew")
            }
            throw NamespaceSettings.failure("cannot cover \(shown(sight))", error)
        }
    }

    /// Why a sight that is not met cannot be left uncovered; nil if it can.
    private mutating func dangerUncovered(_ way: SandboxWalk, _ sight: SandboxSight) throws(Errno) -> String? {
        switch way.end {
        case .buried: return try mayComeOut(sight, way) ? hidden(sight) : nil
        case .closed(let door): return try isOwn(door) ? closed(sight, door) : nil
        default: return nil
        }
    }

    /// Whether a mount that others hide could be moved out from behind them.
    private mutating func mayComeOut(_ sight: SandboxSight, _ way: SandboxWalk) throws(Errno) -> Bool {
        if isPinning || mounts.staysHidden(sight.mount, byNames: !sight.isShares) { return false }
        // Who hides what he serves could show it as well; he stops nobody by that.
        guard sight.mount.isStrangers(to: uid), let hiding = try hiding(way) else { return true }
        return try !mounts.isStrangers(hiding)
    }

    /// What is in the way at the end of a walk, below what we have put there.
    private mutating func hiding(_ way: SandboxWalk) throws(Errno) -> UInt64? {
        guard var number = way.crossings.last?.into else { return nil }
        while try isOurs(number) { number = try mounts.parent(number) }
        return number
    }

    /// What we have covered or pinned hides what was not seen before, or what has a cover of its own: somebody outside could
    /// move it from there.
    private mutating func dangerBehindOurs(_ way: SandboxWalk, _ sight: SandboxSight) throws(Errno) -> String? {
        if unseen.contains(sight.spot) || covers.stand(on: sight.spot, mounts.table) { return nil }
        let mayComeOut = try mayComeOut(sight, way)
        if !mayComeOut { return nil }
        // Or our cover stands on what hid it all the time, as a share over its own directory.
        if around(sight.mount, in: first) == around(sight.mount, in: mounts.table) { return hidden(sight) }
        return "\(shown(sight)) shows what has to be covered, and was mounted or moved while that was done; try again"
    }

    /// What may hide a mount: all that is not ours and stands at its path or above it, by number, parent and path.
    private func around(_ mount: MountInfo, in table: [MountInfo]) -> Set<[UInt8]> {
        Set(
            table.filter { !isOurs($0) && mount.path.isInside($0.path) }
                .map { Array("\($0.id) \($0.parent) ".utf8) + $0.path })
    }

    private mutating func crossesOurs(_ way: SandboxWalk, to sight: SandboxSight) throws(Errno) -> Bool {
        switch way.end {
        case .buried, .closed: break
        default: return false
        }
        for crossing in way.crossings {
            if covers.lids.contains(crossing.into), try isLid(crossing.into, over: sight) { unseen.insert(sight.spot) }
            let isByOurs = try isOurs(crossing.into)
            if isByOurs { return true }
        }
        return false
    }

    /// Whether what a lid stands on bears a place; otherwise that had hidden it before.
    private mutating func isLid(_ number: UInt64, over sight: SandboxSight) throws(Errno) -> Bool {
        let closed = try mounts.parent(number)
        return try mounts.isBelow(sight.mount, closed)
    }

    /// Whether the caller may open a closed directory himself: inside, too, and then move what lies in it.
    private mutating func isOwn(_ door: SharedDescriptor) throws(Errno) -> Bool {
        if try isShare(door) { return false }
        return try doors.isOwn(door)
    }

    /// Whether a directory is one of the share itself.
    private mutating func isShare(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        // By the mount table: it may not even tell its device.
        let device = try mounts.device(Syscall.mountID(of: directory.rawValue))
        return places.mounts.contains { $0.device == device }
    }

    /// Whether what would be mounted stays, and what stands on the way. Names of the view count like any: what stands on one
    /// falls by a revocation, too.
    private mutating func staysCovered(_ way: SandboxWalk, _ sight: SandboxSight) throws(Errno) -> Bool {
        for crossing in way.crossings {
            let isLasting = try stays(crossing, on: sight)
            if !isLasting { return false }
        }
        switch way.end {
        case .missing, .root, .hidden, .buried: return true
        case .closed(let door):
            if try isShare(door) { return true }
            return try mounts.keepsCovers(door.rawValue, isTop: false)
        case .movable(let directory, _): return try mounts.keepsCovers(directory.rawValue, isTop: false)
        case .strangers(let outer), .dead(let outer): return try mounts.keepsCovers(outer.rawValue, isTop: true)
        case .covered(let upper, let onTop):
            // Nothing of ours need stand there, but what hides it falls as a cover would. It is of the same kind: a directory stands on
            // directories only.
            if try isReplaceable(upper, sight) { return false }
            return mounts.keepsCovers(of: sight.mount, isTop: onTop)
        case .visible(let object):
            if try isReplaceable(object, sight) { return false }
            return try mounts.keepsCovers(object.rawValue, isTop: sight.names.isEmpty)
        }
    }

    /// Removed or replaced outside, a file loses what is mounted on it; a directory must be empty for that. What is the top of a whole
    /// file system has no name there: it cannot be replaced, whichever user mounted it and be it a file.
    private func isReplaceable(_ object: SharedDescriptor, _ sight: SandboxSight) throws(Errno) -> Bool {
        let isTopOfAll = sight.names.isEmpty && sight.mount.root.elementsEqual("/".utf8)
        guard sight.isShares, !isTopOfAll else { return false }
        return try !SandboxWalk.isDirectory(object.rawValue)
    }

    /// Whether what stands on a name stays there, or takes the place with it when it falls.
    private mutating func stays(_ crossing: SandboxWalk.Crossing, on sight: SandboxSight) throws(Errno) -> Bool {
        if try mounts.keepsNames(crossing.from) { return true }
        // Then something else could come to stand at the path, if anybody could give it the name.
        if sight.isKept {
            if crossing.isMovable { return false }
            let isRevocable = try mounts.isRevocable(crossing.from)
            return !isRevocable
        }
        guard let lowest = try mounts.lowest(below: crossing.into, standingOn: crossing.from) else { return false }
        return try mounts.isBelow(sight.mount, lowest)
    }

    /// Where a mount shows another part of the same file system, a directory on the way could be moved there as soon as somebody
    /// opens it to this user.
    private func pinning(of sight: SandboxSight) -> SandboxWalk.Pinning {
        guard isPinning else { return .none }
        if sight.isKept { return .movable }
        let place = root(of: sight.mount) + sight.names
        let isSeenElsewhere = mounts.table.contains { other in
            guard other.device == sight.mount.device, !isOurs(other) else { return false }
            let root = root(of: other)
            return !place.starts(with: root) && !root.starts(with: place)
        }
        return isSeenElsewhere ? .all : .movable
    }

    private func isAnother(_ object: SharedDescriptor, _ sight: SandboxSight) throws(Errno) -> Bool {
        guard let inode = sight.inode else { return false }
        return try Syscall.statx(object.rawValue, flags: AtFlag.dontSync).inode != inode
    }

    private func hidden(_ sight: SandboxSight) -> String {
        let what = whatIsSeen(sight)
        return "\(shown(sight)) shows \(what) and is hidden by what is mounted above it; it cannot be covered there, "
            + "and would come out if somebody renamed a directory: unmount it, or if it is the share that hides it, mount the share "
            + "at another path"
    }

    private func closed(_ sight: SandboxSight, _ door: SharedDescriptor) throws(Errno) -> String {
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(door.rawValue)")
        return "\(shown(sight)) shows \(whatIsSeen(sight)) and lies below \(escapedName(path)), which is closed now and the command could "
            + "open, since it belongs to its user: open it (chmod u+x), or unmount what stands there"
    }

    private func whatIsSeen(_ sight: SandboxSight) -> String {
        if sight.isKernels { return "processes, control groups or FUSE connections of outside" }
        return sight.isKept ? "where grants or control sockets are kept" : "the share or what lies behind it"
    }

    private func notLasting(_ sight: SandboxSight) -> String {
        let remedy =
            sight.isKept
            ? "keep them on a local file system (XDG_STATE_HOME for grants, XDG_RUNTIME_DIR for sockets)"
            : "unmount the bind mount, or let the share's backing directory lie on a local file system"
        return "\(shown(sight)) would have to be covered, or something above it, where a cover does not stay (on a file, on FUSE, on "
            + "aclfs itself, or over a network): \(remedy)"
    }

    private func shown(_ sight: SandboxSight) -> String {
        escapedName((sight.mount.path.pathNames + sight.names).joinedPath)
    }

    /// Also what a pin has copied of the view.
    private func isOurs(_ mount: MountInfo) -> Bool { covers.numbers.contains(mount.id) || mount.device == viewDevice }

    private mutating func isOurs(_ number: UInt64) throws(Errno) -> Bool {
        if covers.numbers.contains(number) || pinned[number] != nil { return true }
        return try mounts.device(number) == viewDevice
    }
}
