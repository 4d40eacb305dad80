import ACLFormats
import Glibc
import LinuxSystem

/// The first namespace: everything through which the share or its backing directory can be seen is covered, by the view
/// where it shows the same, by an empty directory elsewhere.
///
/// Nothing here is trusted to stay as it was looked at: when all that the mount table shows is covered it is read anew, until
/// there is nothing left to do, and that is the proof.
struct SandboxWalls {
    let places: SandboxPlaces
    /// Of the view, attached nowhere at first.
    let view: Int32
    private var isViewAttached = false
    private var ours: Set<UInt64> = []
    private var mounts = SandboxMounts()
    private let uid = geteuid()

    /// Besides the share: where grants are kept and where control sockets lie. Nothing must come to stand at their paths
    /// instead.
    private let kept: [SandboxPlaces.Place]

    init(places: SandboxPlaces, sockets: [SandboxPlaces.Place], view: Int32) {
        (self.places, self.view, kept) = (places, view, places.stores + sockets)
    }

    /// More steps than any mount table needs; each covers something.
    private static let most = 10_000

    mutating func raise() throws(SandboxRunFailure) {
        var count = 0
        while count < Self.most {
            let covered = try coverAll()
            if covered == 0 { return }
            count += covered
        }
        throw SandboxRunFailure("the mount table does not come to rest; is something mounting all the time?")
    }

    /// File systems through which their user ends what runs outside: FUSE connections that he mounted, his shares among
    /// them, and by cgroup.kill or cgroup.freeze the processes of control groups that are delegated to him.
    private static let controls = ["fusectl", "cgroup", "cgroup2"]

    /// What is or lies below /proc is going to lie behind the sandbox's own.
    private static func showsProcesses(_ mount: MountInfo) -> Bool {
        mount.type.elementsEqual("proc".utf8) && !mount.path.isInside(Array("/proc".utf8))
    }

    /// A place of one mount where something is seen that must not be.
    private struct Sight {
        var mount: MountInfo
        /// From the mount's top.
        var names: [[UInt8]]
        var cover: Cover
        var isKept = false
    }

    private enum Cover {
        case view(below: [[UInt8]])
        case nothing
    }

    /// All that one reading of the table shows.
    /// - Returns: how much there was to cover.
    private mutating func coverAll() throws(SandboxRunFailure) -> Int {
        do throws(Errno) { try mounts.read() } catch { throw SandboxRunFailure("/proc/self/mountinfo", error) }
        var count = 0
        for mount in mounts.table where !ours.contains(mount.id) {
            for sight in sights(of: mount) {
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

    private func sights(of mount: MountInfo) -> [Sight] {
        let root = mount.root.pathNames
        if Self.controls.contains(where: { mount.type.elementsEqual($0.utf8) }) || Self.showsProcesses(mount) {
            return [Sight(mount: mount, names: [], cover: .nothing)]
        }
        if let served = places.mounts.first(where: { $0.device == mount.device }) {
            return [Sight(mount: mount, names: [], cover: served.isSame ? .view(below: root) : .nothing)]
        }
        return (places.backing + kept).filter { $0.device == mount.device }.compactMap { place in
            if place.names.starts(with: root) {
                return Sight(
                    mount: mount, names: Array(place.names.dropFirst(root.count)),
                    cover: place.isSource ? .view(below: []) : .nothing, isKept: kept.contains(place))
            }
            guard root.starts(with: place.names) else { return nil }
            // What is mounted below the backing directory is seen by the view where it is mounted.
            return Sight(
                mount: mount, names: [],
                cover: place.isSource ? .view(below: Array(root.dropFirst(place.names.count))) : .nothing,
                isKept: kept.contains(place))
        }
    }

    // MARK: One place

    private enum Outcome {
        case notSeen, covered
        /// Something above it, and there may be more.
        case onTheWay
    }

    private mutating func cover(_ sight: Sight) throws(SandboxRunFailure) -> Outcome {
        let found: SandboxWalk.End
        do throws(Errno) {
            found = try SandboxWalk.end(sight.mount, sight.names, among: &mounts, uid: uid, fromRoot: sight.isKept)
        } catch { throw SandboxRunFailure(shown(sight), error) }
        let target: (object: SharedDescriptor, isTop: Bool)? =
            switch found {
            case .hidden, .root: nil
            case .closed(let object), .movable(let object): (object, false)
            case .strangers(let object): (object, true)
            case .visible(let object): (object, sight.names.isEmpty)
            }
        var isLasting = true
        do throws(Errno) {
            if let target, !(try isOurs(target.object)) {
                isLasting = try mounts.keepsCovers(target.object.rawValue, isTop: target.isTop)
            }
        } catch { throw SandboxRunFailure(shown(sight), error) }
        if !isLasting { throw SandboxRunFailure(notLasting(sight)) }
        do throws(Errno) {
            switch found {
            case .hidden: return .notSeen
            // What a view of ours refuses is not seen, and what lies below was mounted where the view stands now.
            case .closed(let door) where try isOurs(door): return .notSeen
            case .closed(let door):
                // Nobody here may pass; covered, it stays closed should its mode change.
                try attachNothing(onto: door)
            case .movable(let directory):
                // Moved to below a bind mount, it would show what lies in it without its cover. A mount's top stays.
                let copy = try Syscall.cloneTree(directory.rawValue)
                try Syscall.attach(mount: copy.rawValue, onto: directory.rawValue)
            case .strangers(let outer):
                // What lies below is not looked for.
                try attachNothing(onto: outer)
            case .root:
                throw Errno.busy
            case .visible(let object):
                switch sight.cover {
                case .nothing: try attachNothing(onto: object)
                case .view(let names): try attachView(names, onto: object)
                }
                return .covered
            }
            return .onTheWay
        } catch {
            if case .root = found {
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

    private func notLasting(_ sight: Sight) -> String {
        let remedy =
            sight.isKept
            ? "keep them on a local file system (XDG_STATE_HOME for grants, XDG_RUNTIME_DIR for sockets)"
            : "unmount the bind mount, or let the share's backing directory lie on a local file system"
        return "\(shown(sight)) would have to be covered, or something above it, on a file system where a cover does not stay (FUSE, "
            + "aclfs itself, or over a network): \(remedy)"
    }

    private func shown(_ sight: Sight) -> String {
        escapedName((sight.mount.path.pathNames + sight.names).joinedPath)
    }

    private mutating func attachView(_ names: [[UInt8]], onto object: SharedDescriptor) throws(Errno) {
        if !isViewAttached {
            guard names.isEmpty else { return try attachNothing(onto: object) }
            try Syscall.attach(mount: view, onto: object.rawValue)
            isViewAttached = true
            remember(view)
            return
        }
        // A part of the share that the profile closes is seen as nothing.
        guard let part = SandboxWalk.below(view, names), let copy = try? Syscall.cloneMount(part.rawValue) else {
            return try attachNothing(onto: object)
        }
        try Syscall.attach(mount: copy.rawValue, onto: object.rawValue)
        remember(copy.rawValue)
    }

    private mutating func attachNothing(onto object: SharedDescriptor) throws(Errno) {
        let isDirectory = try SandboxWalk.isDirectory(object.rawValue)
        let empty: OwnedDescriptor
        if isDirectory {
            empty = try Syscall.smallMount(isWritable: false)
        } else {
            let null = try Syscall.open("/dev/null", OpenFlag.path)
            empty = try Syscall.cloneMount(null.rawValue)
        }
        try Syscall.attach(mount: empty.rawValue, onto: object.rawValue)
        remember(empty.rawValue)
    }

    private func isOurs(_ object: SharedDescriptor) throws(Errno) -> Bool {
        ours.contains(try Syscall.mountID(of: object.rawValue))
    }

    private mutating func remember(_ mount: Int32) {
        if let id = try? Syscall.statx(mount, flags: AtFlag.dontSync).mountID { ours.insert(id) }
    }
}
