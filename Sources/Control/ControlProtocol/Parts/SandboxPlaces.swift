import ACLFormats
import LinuxSystem

/// The places that show a share besides its mount point, which a sandbox has to hide (docs/guide/sandbox-run.md). They are sent as
/// docs/reference/control.md says.
public struct SandboxPlaces: Sendable, Hashable {
    /// A directory by its names from the root of its file system.
    public struct Place: Sendable, Hashable {
        /// As in `MountInfo.device`.
        public var device: UInt64
        public var names: [[UInt8]]
        /// Whether it is the backing directory itself, not a mount below it.
        public var isSource: Bool
        /// The inode number of the backing directory, so that no other object is taken for it.
        public var inode: UInt64?
        /// Whether it stays exposed where an overmount would not stay. Not part of the message.
        public var isOptional = false
        /// Whether the caller may not search it, and so has no file open below it. Not part of the message.
        public var isClosed = false

        public init(device: UInt64, names: [[UInt8]], isSource: Bool, inode: UInt64? = nil) {
            (self.device, self.names, self.isSource, self.inode) = (device, names, isSource, inode)
        }

        fileprivate init?(_ json: JSON) {
            guard let device = json[.device]?.string.flatMap({ DeviceNumber.parse($0) }), let path = json.path(.path) else { return nil }
            self.init(
                device: device, names: path.pathNames, isSource: json[.source]?.bool == true,
                inode: json[.inode]?.string.flatMap { UInt64($0) })
        }

        fileprivate var location: [JSON.Member] {
            [.init(.device, DeviceNumber.text(device)), .init(.path, path: [0x2F] + Array(names.joined(separator: [0x2F])))]
        }
    }

    /// A mount of the same daemon.
    public struct Mount: Sendable, Hashable {
        public var device: UInt64
        /// Whether it has the same backing directory, so that the view can take its place.
        public var isSame: Bool

        public init(device: UInt64, isSame: Bool) { (self.device, self.isSame) = (device, isSame) }
    }

    public var backing: [Place]
    public var mounts: [Mount]
    /// Directories of grants, which the command may neither read nor change.
    public var stores: [Place]
    /// Whether /proc, control groups or FUSE connections lie in the backing directory or are mounted below it. Not part of the message.
    public let showsControls: Bool

    public init(backing: [Place], mounts: [Mount], stores: [Place] = [], showsControls: Bool = false) {
        (self.backing, self.mounts, self.stores, self.showsControls) = (backing, mounts, stores, showsControls)
    }
}

extension SandboxPlaces {
    var json: JSON { .object(members) }

    var members: [JSON.Member] {
        [
            .init(
                .backing,
                .array(
                    backing.map { place in
                        .object(
                            place.location + [.init(.source, place.isSource)] + (place.inode.map { [.init(.inode, String($0))] } ?? []))
                    })),
            .init(.stores, .array(stores.map { .object($0.location) })),
            .init(
                .mounts, .array(mounts.map { .object([.init(.device, DeviceNumber.text($0.device)), .init(.same, $0.isSame)]) })),
        ]
    }

    /// nil if any part of the message is malformed: then the places to hide are unknown.
    init?(_ json: JSON) {
        guard let places = json[.backing]?.array, let served = json[.mounts]?.array else { return nil }
        self.init(backing: [], mounts: [])
        for json in places {
            guard json[.source]?.bool != nil, let place = Place(json) else { return nil }
            backing.append(place)
        }
        // A question to another user's daemon contains no stores.
        for json in json[.stores]?.array ?? [] {
            guard let place = Place(json) else { return nil }
            stores.append(Place(device: place.device, names: place.names, isSource: false))
        }
        for json in served {
            guard let device = json[.device]?.string.flatMap({ DeviceNumber.parse($0) }), let isSame = json[.same]?.bool else {
                return nil
            }
            mounts.append(Mount(device: device, isSame: isSame))
        }
        if !backing.contains(where: { $0.isSource }) || mounts.isEmpty { return nil }
    }
}
