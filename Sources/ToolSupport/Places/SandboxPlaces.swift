import ACLFormats
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
    package var json: JSON { .object(members) }

    package var members: [JSON.Member] {
        [
            .init(
                "backing",
                .array(
                    backing.map { place in
                        .object(
                            [
                                .init("device", .string(DeviceNumber.text(place.device))),
                                place.path,
                                .init("source", .bool(place.isSource)),
                            ] + (place.inode.map { [.init("inode", .string(String($0)))] } ?? []))
                    })),
            .init("stores", .array(stores.map { .object([.init("device", .string(DeviceNumber.text($0.device))), $0.path]) })),
            .init(
                "mounts",
                .array(
                    mounts.map { mount in
                        .object([
                            .init("device", .string(DeviceNumber.text(mount.device))), .init("same", .bool(mount.isSame)),
                        ])
                    })),
        ]
    }

    /// nil if it says anything that cannot be understood: then nobody knows what to cover.
    package init?(_ json: JSON) {
        guard let places = json["backing"]?.array, let served = json["mounts"]?.array else { return nil }
        self.init(backing: [], mounts: [])
        for place in places {
            guard let device = place["device"]?.string.flatMap(DeviceNumber.parse), let path = place.path(),
                let isSource = place["source"]?.bool
            else { return nil }
            let inode = place["inode"]?.string.flatMap { UInt64($0) }
            backing.append(Place(device: device, names: path.pathNames, isSource: isSource, inode: inode))
        }
        // Another daemon that is asked about somebody's places is told none.
        for store in json["stores"]?.array ?? [] {
            guard let device = store["device"]?.string.flatMap(DeviceNumber.parse), let path = store.path() else { return nil }
            stores.append(Place(device: device, names: path.pathNames, isSource: false))
        }
        for mount in served {
            guard let device = mount["device"]?.string.flatMap(DeviceNumber.parse), let isSame = mount["same"]?.bool else {
                return nil
            }
            mounts.append(Mount(device: device, isSame: isSame))
        }
        if !backing.contains(where: { $0.isSource }) || mounts.isEmpty { return nil }
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

    fileprivate var path: JSON.Member { JSON.path([0x2F] + Array(names.joined(separator: [0x2F]))) }
}

extension [UInt8] {
    /// Whether the path is the directory or lies below it.
    package func isInside(_ directory: [UInt8]) -> Bool { pathNames.starts(with: directory.pathNames) }
}
