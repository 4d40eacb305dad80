import ACLFormats
import LinuxSystem

/// The places that show a share besides its mount point, which a sandbox has to hide (docs/sandbox-run.md).
package struct SandboxPlaces {
    /// A directory by its names from the root of its file system.
    package struct Place: Equatable {
        /// As in `MountInfo.device`.
        package var device: UInt64
        package var names: [[UInt8]]
        /// Whether it is the backing directory itself, not a mount below it.
        package var isSource: Bool
        /// The inode number of the backing directory, so that no other object is taken for it.
        package var inode: UInt64?
        /// Whether it stays exposed where an overmount would not stay.
        package var isOptional = false
        /// Whether the caller may not search it, and so has no file open below it.
        package var isClosed = false

        package init(device: UInt64, names: [[UInt8]], isSource: Bool, inode: UInt64? = nil) {
            (self.device, self.names, self.isSource, self.inode) = (device, names, isSource, inode)
        }
    }

    /// A mount of the same daemon.
    package struct Mount {
        package var device: UInt64
        /// Whether it has the same backing directory, so that the view can take its place.
        package var isSame: Bool

        package init(device: UInt64, isSame: Bool) { (self.device, self.isSame) = (device, isSame) }
    }

    package var backing: [Place]
    package var mounts: [Mount]
    /// Directories of grants, which the command may neither read nor change.
    package var stores: [Place]
    /// Whether /proc, control groups or FUSE connections lie in the backing directory or are mounted below it. Not part of the message.
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

    /// nil if any part of the message is malformed: then the places to hide are unknown.
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
        // A question to another user's daemon contains no stores.
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
    /// The place of an open object, by the mount table of this process.
    /// - Throws: `noent` if the object has no path here.
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
