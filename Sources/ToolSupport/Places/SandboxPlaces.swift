import ACLFormats
import ControlProtocol
import LinuxSystem

/// Where a share can be seen besides its mount point: what a sandbox has to cover (docs/sandbox-run.md).
package struct SandboxPlaces {
    /// A directory of some file system, by names from that file system's own root.
    package struct Place: Equatable {
        /// As in `MountInfo.device`.
        package var device: UInt64
        package var names: [[UInt8]]
        /// The backing directory itself; otherwise what is mounted below it.
        package var isSource: Bool
        /// Of the backing directory, so that nothing else is taken for it.
        package var inode: UInt64?
        /// Done without where a cover would not stay.
        package var isOptional = false
        /// Closed to the caller: what lies behind it he has no file of.
        package var isDoor = false

        package init(device: UInt64, names: [[UInt8]], isSource: Bool, inode: UInt64? = nil) {
            (self.device, self.names, self.isSource, self.inode) = (device, names, isSource, inode)
        }
    }

    /// A mount of the same daemon.
    package struct Mount {
        package var device: UInt64
        /// Of the same backing directory, so that the view can stand for it.
        package var isSame: Bool

        package init(device: UInt64, isSame: Bool) { (self.device, self.isSame) = (device, isSame) }
    }

    package var backing: [Place]
    package var mounts: [Mount]
    /// Directories of kept grants, which nobody inside may read or change.
    package var stores: [Place]
    /// Whether processes, control groups or FUSE connections are seen in the backing directory, or mounted below it. Not told as a place.
    package let showsControls: Bool

    package init(backing: [Place], mounts: [Mount], stores: [Place] = [], showsControls: Bool = false) {
        (self.backing, self.mounts, self.stores, self.showsControls) = (backing, mounts, stores, showsControls)
    }
}

extension SandboxPlaces {
    /// As a message has them.
    package var told: ToldPlaces {
        ToldPlaces(
            backing: backing.map {
                .init(device: DeviceNumber.text($0.device), names: $0.names, isSource: $0.isSource, inode: $0.inode)
            },
            stores: stores.map { .init(device: DeviceNumber.text($0.device), names: $0.names, isSource: false) },
            mounts: mounts.map { .init(device: DeviceNumber.text($0.device), isSame: $0.isSame) })
    }

    /// nil if it says anything that cannot be understood: then nobody knows what to cover.
    package init?(_ told: ToldPlaces) {
        self.init(backing: [], mounts: [])
        func read(_ told: ToldPlaces.Place) -> Place? {
            guard let device = DeviceNumber.parse(told.device) else { return nil }
            return Place(device: device, names: told.names, isSource: told.isSource, inode: told.inode)
        }
        for backing in told.backing {
            guard let place = read(backing) else { return nil }
            self.backing.append(place)
        }
        for store in told.stores {
            guard let place = read(store) else { return nil }
            stores.append(place)
        }
        for mount in told.mounts {
            guard let device = DeviceNumber.parse(mount.device) else { return nil }
            mounts.append(Mount(device: device, isSame: mount.isSame))
        }
    }

    /// nil unless the daemon says also where grants are kept, as an earlier version does not, or if it is not understood.
    package init?(_ answer: PlacesAnswer) {
        guard answer.tellsStores, let told = answer.places else { return nil }
        self.init(told)
    }
}

extension SandboxPlaces.Place {
    /// Where what any descriptor is open on lies, by the mount table of this process.
    package init(of object: Int32) throws(Errno) {
        let id = try Syscall.mountID(of: object)
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(object)")
        guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == id }), path.isInside(mount.path) else {
            throw .noent
        }
        let below = path.pathNames.dropFirst(mount.path.pathNames.count)
        self.init(device: mount.device, names: mount.shownPath.pathNames + below, isSource: false)
    }
}

extension [UInt8] {
    /// Whether the path is the directory or lies below it.
    package func isInside(_ directory: [UInt8]) -> Bool { pathNames.starts(with: directory.pathNames) }
}
