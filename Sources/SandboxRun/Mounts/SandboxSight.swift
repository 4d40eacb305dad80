import LinuxSystem
import ToolSupport

/// A place of one mount where something is seen that must not be.
struct SandboxSight {
    var mount: MountInfo
    /// From the mount's top.
    var names: [[UInt8]]
    var cover: Cover
    var isKept = false
    /// Of the kernel's own file systems, whose files nobody replaces.
    var isKernels = false
    /// Done without where a cover would not stay.
    var isOptional = false
    /// Of what has to be met there; nil: of whatever is.
    var inode: UInt64?

    /// Of the share or what lies behind it.
    var isShares: Bool { !isKept && !isKernels }

    /// Where a cover of it stands.
    var spot: SandboxSpot { SandboxSpot(mount: mount.id, names: names) }

    enum Cover {
        case view(below: [[UInt8]])
        case nothing
    }
}

/// By its number and the names from its top.
struct SandboxSpot: Hashable {
    var mount: UInt64
    var names: [[UInt8]]
}

extension SandboxPlaces {
    /// Through them their user ends what runs outside: FUSE connections that he mounted, his shares among them, and by cgroup.kill or
    /// cgroup.freeze the processes of control groups that are delegated to him. What is or lies below /proc is going to lie behind
    /// the sandbox's own.
    private static func controlsOutside(_ mount: MountInfo) -> Bool {
        mount.isOfControls && !(mount.type.elementsEqual("proc".utf8) && mount.path.isInside(Array("/proc".utf8)))
    }

    /// What a mount shows of these, and of what is kept.
    /// - Parameter root: what of its file system the mount shows.
    func sights(of mount: MountInfo, root: [[UInt8]], kept: [Place], uid: UInt32) -> [SandboxSight] {
        if mount.keepsOut(uid) { return [] }
        if Self.controlsOutside(mount) {
            return [SandboxSight(mount: mount, names: [], cover: .nothing, isKernels: true)]
        }
        if let served = mounts.first(where: { $0.device == mount.device }) {
            return [SandboxSight(mount: mount, names: [], cover: served.isSame ? .view(below: root) : .nothing)]
        }
        return (backing + kept).filter { $0.device == mount.device }.compactMap { place in
            if place.names.starts(with: root) {
                return SandboxSight(
                    mount: mount, names: Array(place.names.dropFirst(root.count)),
                    cover: place.isSource ? .view(below: []) : .nothing, isKept: kept.contains(place),
                    isOptional: place.isOptional, inode: place.inode)
            }
            guard root.starts(with: place.names) else { return nil }
            // What is mounted below the backing directory is seen by the view where it is mounted.
            return SandboxSight(
                mount: mount, names: [],
                cover: place.isSource ? .view(below: Array(root.dropFirst(place.names.count))) : .nothing,
                isKept: kept.contains(place))
        }
    }
}
