import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Hides every path of this mount namespace that exposes the share or its backing directory.
///
/// The view hides a path that shows the same tree, an empty mount every other path. The mount table can change meanwhile:
/// `hideAll` reads it again until a whole round finds nothing to hide.
struct SandboxMountIsolation {
    let places: SandboxPlaces
    private var overmounts: SandboxOvermounts
    private var mounts = SandboxMounts()
    /// The mount table before the first overmount.
    private var initialTable: [MountInfo] = []
    private let uid = geteuid()
    /// A pin is a bind mount of a directory onto itself, so that the directory cannot be renamed. By the mount id of a
    /// pin: the path of its top in its file system when the pin was made. nil: the mount table has the path.
    private var pinned: [UInt64: [[UInt8]]?] = [:]
    /// Pins come after all exposed paths are hidden, so that a pin hides only what has an overmount.
    private var isPinning = false
    private let viewDevice: UInt64?
    /// Paths that were not visible although no overmount of this process hid them.
    private var notVisible: Set<SandboxPathInMount> = []
    /// A path that the walk should have found and did not.
    private var missing: String?

    /// Directories of grants and of control sockets. Their paths must keep leading to them, so that no other object takes their
    /// place.
    private let kept: [SandboxPlaces.Place]

    private let closedDirectories: SandboxClosedDirectories

    init(places: SandboxPlaces, sockets: [SandboxPlaces.Place], closedDirectories: SandboxClosedDirectories, view: Int32) {
        (self.places, kept, self.closedDirectories) = (places, places.stores + sockets, closedDirectories)
        overmounts = SandboxOvermounts(view: view)
        viewDevice = try? Syscall.statx(view, flags: AtFlag.dontSync).device
    }

    /// A bound that no mount table reaches. Each step mounts something.
    private static let maximumSteps = 10_000

    /// Hides all exposed paths and pins the directories above them.
    /// - Throws: a path cannot be hidden for good, or the mount table keeps changing.
    mutating func hideAll() throws(SandboxRunFailure) {
        var count = 0
        var retries = 10
        while count < Self.maximumSteps {
            missing = nil
            let hidden = try hideOnce()
            if let missing {
                // A rename of a directory above may be in progress.
                guard retries > 0 else {
                    throw SandboxRunFailure(
                        "\(missing) must be hidden, and is missing or was replaced by another object: try again, or if a directory "
                            + "above it was renamed, mount the share again")
                }
                retries -= 1
                SystemTime.sleep(milliseconds: 20)
            } else if hidden == 0 {
                if isPinning { return }
                isPinning = true
            }
            count += hidden
        }
        throw SandboxRunFailure("the mount table keeps changing: try again when no program mounts or unmounts")
    }

    /// Hides what one reading of the mount table exposes.
    /// - Returns: the number of steps that mounted something.
    private mutating func hideOnce() throws(SandboxRunFailure) -> Int {
        do throws(Errno) { try mounts.read() } catch { throw SandboxRunFailure("cannot read /proc/self/mountinfo", error) }
        if initialTable.isEmpty { initialTable = mounts.table }
        var count = 0
        // An overmount hides the mounts below its path: those come first. Of all, the mounts of the same tree come first, because
        // the others get copies of the attached view.
        let order = mounts.innermostFirst { mount in
            mount.root.elementsEqual("/".utf8) && places.mounts.contains { $0.isSame && $0.device == mount.device }
        }
        for mount in order where !isMadeHere(mount) {
            for exposed in places.exposedPaths(of: mount, root: root(of: mount), kept: kept, uid: uid) {
                steps: while count < Self.maximumSteps {
                    switch try hide(exposed) {
                    case .notVisible: break steps
                    case .hidden:
                        count += 1
                        break steps
                    case .above: count += 1
                    }
                }
            }
        }
        return count
    }

    private func root(of mount: MountInfo) -> [[UInt8]] { pinned[mount.id].flatMap { $0 } ?? mount.shownPath.pathNames }

    // MARK: One path

    private enum Outcome {
        case notVisible, hidden
        /// A mount above the path was made. The path itself may still be exposed.
        case above
    }

    private mutating func hide(_ exposed: SandboxExposedPath) throws(SandboxRunFailure) -> Outcome {
        let walk: SandboxWalk
        let isPermanent: Bool
        let isBehindOvermount: Bool
        let danger: String?
        do throws(Errno) {
            walk = try SandboxWalk(
                exposed.mount, exposed.names, among: &mounts, uid: uid, pinning: pinning(of: exposed), fromRoot: exposed.isKept)
            isBehindOvermount = try findOvermount(on: walk, to: exposed)
            isPermanent = try staysHidden(walk, exposed)
            danger = try isBehindOvermount ? dangerBehindOvermount(walk, exposed) : dangerIfExposed(walk, exposed)
        } catch { throw SandboxRunFailure("cannot examine \(shown(exposed)), which must be hidden", error) }
        if isBehindOvermount {
            if let danger { throw SandboxRunFailure(danger) }
            return .notVisible
        }
        if !isPermanent {
            if exposed.isOptional {
                notVisible.insert(exposed.pathInMount)
                return .notVisible
            }
            throw SandboxRunFailure(notPermanent(exposed))
        }
        if let danger { throw SandboxRunFailure(danger) }
        do throws(Errno) {
            switch walk.end {
            case .pathHidden, .overmounted, .mountHidden:
                notVisible.insert(exposed.pathInMount)
                return .notVisible
            case .closed(let directory):
                notVisible.insert(exposed.pathInMount)
                // The view is going to be mounted there.
                if try isShare(directory) { return .notVisible }
                // The caller may not search it. The overmount keeps it closed if its mode changes.
                try overmounts.attachOpaque(directory)
            case .movable(let directory, let depth):
                // Renamed to below a bind mount, the directory would expose the path again. The top of a mount cannot be renamed.
                let copy = try Syscall.cloneTree(directory.rawValue)
                try Syscall.attach(mount: copy.rawValue, onto: directory.rawValue)
                let (pin, below) = (try Syscall.mountID(of: copy.rawValue), try Syscall.mountID(of: directory.rawValue))
                pinned[pin] = .some(depth.map { root(of: exposed.mount) + exposed.names.prefix($0) })
                mounts.note(pin, like: below, on: below)
            case .ofAnotherUser(let top):
                // The walk ends at the mount of another user, whose server need not answer.
                notVisible.insert(exposed.pathInMount)
                try overmounts.attachOpaque(top)
            case .dead(let top):
                notVisible.insert(exposed.pathInMount)
                if try isShare(top) { return .notVisible }
                try overmounts.attachOpaque(top)
            case .root:
                throw Errno.busy
            case .visible(let object) where try isAnother(object, exposed):
                missing = shown(exposed)
                return .notVisible
            case .missing:
                if !exposed.isOptional { missing = shown(exposed) }
                return .notVisible
            case .visible(let object):
                try overmounts.attach(object, at: exposed.pathInMount, exposed.overmount)
                return .hidden
            }
            return .above
        } catch {
            if case .root = walk.end {
                throw SandboxRunFailure(
                    "\(shown(exposed)) shows \(whatIsSeen(exposed)) and is the root directory, over which nothing can be mounted")
            }
            // The kernel mounts nothing on a removed object, or on one whose name it has dropped from its caches.
            if error == .noent {
                throw SandboxRunFailure(
                    "\(shown(exposed)) is a bind mount of a part of the share or of its backing directory, over which the kernel mounts "
                        + "nothing, because that part was removed or dropped from its caches: unmount it, or mount it again")
            }
            throw NamespaceSettings.failure("cannot hide \(shown(exposed))", error)
        }
    }

    /// - Returns: why a path that the walk did not reach cannot stay without an overmount; nil if it can.
    private mutating func dangerIfExposed(_ walk: SandboxWalk, _ exposed: SandboxExposedPath) throws(Errno) -> String? {
        switch walk.end {
        case .mountHidden: return try mayReappear(exposed, walk) ? hidden(exposed) : nil
        case .closed(let directory): return try isOwn(directory) ? closed(exposed, directory) : nil
        default: return nil
        }
    }

    /// Whether a rename or an unmount outside could make a hidden mount visible.
    private mutating func mayReappear(_ exposed: SandboxExposedPath, _ walk: SandboxWalk) throws(Errno) -> Bool {
        if isPinning || mounts.staysHidden(exposed.mount, byNames: !exposed.isShares) { return false }
        // Another user who hides the mount could show its content as well: that prevents no sandbox of the caller.
        guard exposed.mount.isOfAnotherUser(than: uid), let hiding = try hiding(walk) else { return true }
        return try !mounts.isOfAnotherUser(hiding)
    }

    /// - Returns: the number of the mount that hides the end of a walk, apart from mounts of this process.
    private mutating func hiding(_ walk: SandboxWalk) throws(Errno) -> UInt64? {
        guard var number = walk.crossings.last?.into else { return nil }
        while try isMadeHere(number) { number = try mounts.parent(number) }
        return number
    }

    /// A path behind an overmount or a pin is safe if it was not visible before, or if it has an overmount of its own. Otherwise a
    /// rename outside could expose it.
    /// - Returns: the reason to start nothing; nil if there is none.
    private mutating func dangerBehindOvermount(_ walk: SandboxWalk, _ exposed: SandboxExposedPath) throws(Errno) -> String? {
        if notVisible.contains(exposed.pathInMount) || overmounts.hides(exposed.pathInMount, mounts.table) { return nil }
        guard try mayReappear(exposed, walk) else { return nil }
        // The overmount may stand on the mount that hid the path from the start, such as a share over its own directory.
        if around(exposed.mount, in: initialTable) == around(exposed.mount, in: mounts.table) { return hidden(exposed) }
        return "\(shown(exposed)) shows \(whatIsSeen(exposed)) and was mounted or moved while the sandbox was made: try again"
    }

    /// - Returns: number, parent and path of each mount at or above a mount's path that is not of this process.
    private func around(_ mount: MountInfo, in table: [MountInfo]) -> Set<[UInt8]> {
        Set(
            table.filter { !isMadeHere($0) && mount.path.isInside($0.path) }
                .map { Array("\($0.id) \($0.parent) ".utf8) + $0.path })
    }

    /// Looks for mounts of this process that end a walk, and notes a path that an opaque one hides.
    /// - Returns: whether there is one.
    private mutating func findOvermount(on walk: SandboxWalk, to exposed: SandboxExposedPath) throws(Errno) -> Bool {
        switch walk.end {
        case .mountHidden, .closed: break
        default: return false
        }
        for crossing in walk.crossings {
            if overmounts.opaque.contains(crossing.into), try isAboveOpaque(crossing.into, exposed) {
                notVisible.insert(exposed.pathInMount)
            }
            if try isMadeHere(crossing.into) { return true }
        }
        return false
    }

    /// Whether an opaque overmount stands on a mount that bears the path. Otherwise another mount hid the path before.
    private mutating func isAboveOpaque(_ number: UInt64, _ exposed: SandboxExposedPath) throws(Errno) -> Bool {
        let closed = try mounts.parent(number)
        return mounts.isBelow(exposed.mount, closed)
    }

    /// Whether the caller owns a closed directory. Then the command could open it and rename what lies in it.
    private mutating func isOwn(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        if try isShare(directory) { return false }
        return try closedDirectories.isOwn(directory)
    }

    /// Whether a directory is one of the share itself.
    private mutating func isShare(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        // The mount table has the device even if the directory refuses statx.
        let device = try mounts.device(Syscall.mountID(of: directory.rawValue))
        return places.mounts.contains { $0.device == device }
    }

    /// Whether the overmount of a path, and every mount on the way to it, stays attached. A mount on a name of the view does not:
    /// a revocation drops the name.
    private mutating func staysHidden(_ walk: SandboxWalk, _ exposed: SandboxExposedPath) throws(Errno) -> Bool {
        for crossing in walk.crossings {
            guard try stays(crossing, on: exposed) else { return false }
        }
        switch walk.end {
        case .missing, .root, .pathHidden, .mountHidden: return true
        case .closed(let directory):
            if try isShare(directory) { return true }
            return try mounts.keepsOvermounts(directory.rawValue, isTop: false)
        case .movable(let directory, _): return try mounts.keepsOvermounts(directory.rawValue, isTop: false)
        case .ofAnotherUser(let top), .dead(let top): return try mounts.keepsOvermounts(top.rawValue, isTop: true)
        case .overmounted(let upper, let onTop):
            // The path needs no overmount, but the mount that hides it is lost as an overmount would be. Both are directories or
            // both files.
            if try isReplaceable(upper, exposed) { return false }
            return mounts.keepsOvermounts(of: exposed.mount, isTop: onTop)
        case .visible(let object):
            if try isReplaceable(object, exposed) { return false }
            return try mounts.keepsOvermounts(object.rawValue, isTop: exposed.names.isEmpty)
        }
    }

    /// Whether a replacement outside would drop the overmount. It does on a file; a directory would have to be empty. The root of a
    /// file system has no name and cannot be replaced.
    private func isReplaceable(_ object: SharedDescriptor, _ exposed: SandboxExposedPath) throws(Errno) -> Bool {
        let isTopOfAll = exposed.names.isEmpty && exposed.mount.root.elementsEqual("/".utf8)
        guard exposed.isShares, !isTopOfAll else { return false }
        return try !SandboxWalk.isDirectory(object.rawValue)
    }

    /// Whether a mount on a name stays attached, or takes the path with it when the kernel detaches it.
    private mutating func stays(_ crossing: SandboxWalk.Crossing, on exposed: SandboxExposedPath) throws(Errno) -> Bool {
        if try mounts.keepsNames(crossing.from) { return true }
        // Another object could take the path, if the command can create the name.
        if exposed.isKept {
            if crossing.isMovable { return false }
            let isRevocable = try mounts.isRevocable(crossing.from)
            return !isRevocable
        }
        guard let lowest = try mounts.lowest(below: crossing.into, on: crossing.from) else { return false }
        return mounts.isBelow(exposed.mount, lowest)
    }

    /// If another mount shows a different part of the file system, a directory above the path could be renamed to there.
    private func pinning(of exposed: SandboxExposedPath) -> SandboxWalk.Pinning {
        guard isPinning else { return .none }
        if exposed.isKept { return .movable }
        let place = root(of: exposed.mount) + exposed.names
        let isSeenElsewhere = mounts.table.contains { other in
            guard other.device == exposed.mount.device, !isMadeHere(other) else { return false }
            let root = root(of: other)
            return !place.starts(with: root) && !root.starts(with: place)
        }
        return isSeenElsewhere ? .all : .movable
    }

    private func isAnother(_ object: SharedDescriptor, _ exposed: SandboxExposedPath) throws(Errno) -> Bool {
        guard let inode = exposed.inode else { return false }
        return try Syscall.statx(object.rawValue, flags: AtFlag.dontSync).inode != inode
    }

    private func hidden(_ exposed: SandboxExposedPath) -> String {
        "\(shown(exposed)) shows \(whatIsSeen(exposed)) and is hidden by another mount, so that nothing can be mounted over it; a rename "
            + "of a directory above would expose it: unmount it, or if the share hides it, mount the share at another path"
    }

    private func closed(_ exposed: SandboxExposedPath, _ directory: SharedDescriptor) throws(Errno) -> String {
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        return "\(shown(exposed)) shows \(whatIsSeen(exposed)) and lies below \(escapedName(path)), which you own and cannot search, "
            + "but the command could open: allow the search (chmod u+x), or unmount \(shown(exposed))"
    }

    private func whatIsSeen(_ exposed: SandboxExposedPath) -> String {
        if exposed.isKernels { return "processes, control groups or FUSE connections outside the sandbox" }
        return exposed.isKept ? "grants or control sockets" : "the share or its backing directory"
    }

    private func notPermanent(_ exposed: SandboxExposedPath) -> String {
        let remedy =
            exposed.isKept
            ? "keep grants (XDG_STATE_HOME) and control sockets (XDG_RUNTIME_DIR) on a local file system"
            : "unmount the bind mount, or use a backing directory on a local file system"
        return "\(shown(exposed)) cannot be hidden for good: a mount over it or over a directory above it would not stay there "
            + "(on a file, on FUSE, on aclfs itself, or on a network file system): \(remedy)"
    }

    private func shown(_ exposed: SandboxExposedPath) -> String {
        escapedName((exposed.mount.path.pathNames + exposed.names).joinedPath)
    }

    /// Whether this process made a mount. A pin may contain copies of the view.
    private func isMadeHere(_ mount: MountInfo) -> Bool { overmounts.numbers.contains(mount.id) || mount.device == viewDevice }

    private mutating func isMadeHere(_ number: UInt64) throws(Errno) -> Bool {
        if overmounts.numbers.contains(number) || pinned[number] != nil { return true }
        return try mounts.device(number) == viewDevice
    }
}
