import ACLFormats
import ControlProtocol
import LinuxSystem

/// The places that show a share besides its mount point, which a sandbox has to hide (docs/guide/sandbox-run.md).
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
    /// The places in the form of a message.
    package var form: PlacesForm {
        PlacesForm(
            backing: backing.map {
                .init(device: DeviceNumber.text($0.device), names: $0.names, isSource: $0.isSource, inode: $0.inode)
            },
            stores: stores.map { .init(device: DeviceNumber.text($0.device), names: $0.names, isSource: false) },
            mounts: mounts.map { .init(device: DeviceNumber.text($0.device), isSame: $0.isSame) })
    }

    /// nil if any part of the message is malformed: then the places to hide are unknown.
    package init?(_ form: PlacesForm) {
        self.init(backing: [], mounts: [])
        func read(_ place: PlacesForm.Place) -> Place? {
            guard let device = DeviceNumber.parse(place.device) else { return nil }
            return Place(device: device, names: place.names, isSource: place.isSource, inode: place.inode)
        }
        for backing in form.backing {
            guard let place = read(backing) else { return nil }
            self.backing.append(place)
        }
        // A question to another user's daemon contains no stores.
        for store in form.stores {
            guard let place = read(store) else { return nil }
            stores.append(place)
        }
        for mount in form.mounts {
            guard let device = DeviceNumber.parse(mount.device) else { return nil }
            mounts.append(Mount(device: device, isSame: mount.isSame))
        }
    }

    /// nil unless the daemon says also where grants are kept, as an earlier version does not, or if it is not understood.
    package init?(_ answer: PlacesAnswer) {
        guard answer.tellsStores, let form = answer.places else { return nil }
        self.init(form)
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
}

extension [UInt8] {
    /// Whether the path is the directory or lies below it.
    package func isInside(_ directory: [UInt8]) -> Bool { pathNames.starts(with: directory.pathNames) }
}
