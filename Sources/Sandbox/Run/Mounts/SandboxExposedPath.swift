import ControlProtocol
import LinuxSystem
import ToolSupport

/// A path of one mount that shows an object which the command must not see.
struct SandboxExposedPath {
    var mount: MountInfo
    /// From the top of the mount.
    var names: [[UInt8]]
    var overmount: Overmount
    /// Whether grants or control sockets lie there.
    var isKept = false
    /// Whether it lies on one of the kernel's own file systems, whose files cannot be replaced.
    var isKernels = false
    /// Whether the path stays exposed where an overmount would not stay.
    var isOptional = false
    /// The inode number that the object must have; nil: any.
    var inode: UInt64?

    /// Whether it shows the share or its backing directory.
    var isShares: Bool { !isKept && !isKernels }

    var pathInMount: SandboxPathInMount { SandboxPathInMount(mount: mount.id, names: names) }

    /// What is mounted over the path.
    enum Overmount {
        /// The view, or the directory of that name in it.
        case view(below: [[UInt8]])
        case empty
    }
}

/// A path by the number of its mount and the names from the mount's top.
struct SandboxPathInMount: Hashable {
    var mount: UInt64
    var names: [[UInt8]]
}

extension SandboxPlaces {
    /// Whether a mount controls objects outside: FUSE connections, or through cgroup.kill and cgroup.freeze processes of delegated
    /// control groups. The sandbox's own /proc hides the mounts at and below /proc.
    private static func controlsOutside(_ mount: MountInfo) -> Bool {
        mount.isOfControls && !(mount.type.elementsEqual("proc".utf8) && mount.path.isInside(Array("/proc".utf8)))
    }

    /// The paths of a mount that expose these places.
    /// - Parameters:
    ///   - root: the directory of its file system that the mount shows.
    ///   - kept: directories of grants and of control sockets.
    ///   - uid: of the caller.
    /// - Returns: empty if the mount shows none of them.
    func exposedPaths(of mount: MountInfo, root: [[UInt8]], kept: [Place], uid: UInt32) -> [SandboxExposedPath] {
        if mount.refuses(uid) { return [] }
        if Self.controlsOutside(mount) {
            return [SandboxExposedPath(mount: mount, names: [], overmount: .empty, isKernels: true)]
        }
        if let served = mounts.first(where: { $0.device == mount.device }) {
            return [SandboxExposedPath(mount: mount, names: [], overmount: served.isSame ? .view(below: root) : .empty)]
        }
        return (backing + kept).filter { $0.device == mount.device }.compactMap { place in
            if place.names.starts(with: root) {
                return SandboxExposedPath(
                    mount: mount, names: Array(place.names.dropFirst(root.count)),
                    overmount: place.isSource ? .view(below: []) : .empty, isKept: kept.contains(place),
                    isOptional: place.isOptional, inode: place.inode)
            }
            guard root.starts(with: place.names) else { return nil }
            // The view shows a mount below the backing directory at the path where it is mounted.
            return SandboxExposedPath(
                mount: mount, names: [],
                overmount: place.isSource ? .view(below: Array(root.dropFirst(place.names.count))) : .empty,
                isKept: kept.contains(place))
        }
    }
}
