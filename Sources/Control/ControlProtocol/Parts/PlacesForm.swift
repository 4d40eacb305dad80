import ACLFormats

/// The places that a sandbox has to hide, in the form of a message (docs/reference/control.md).
public struct PlacesForm: Sendable, Hashable {
    /// A directory of some file system.
    public struct Place: Sendable, Hashable {
        /// `MAJOR:MINOR`.
        public var device: String
        /// From that file system's own root.
        public var names: [[UInt8]]
        /// Whether it is the backing directory itself, not a mount below it.
        public var isSource: Bool
        /// Of the backing directory alone.
        public var inode: UInt64?

        public init(device: String, names: [[UInt8]], isSource: Bool, inode: UInt64? = nil) {
            (self.device, self.names, self.isSource, self.inode) = (device, names, isSource, inode)
        }
    }

    /// A mount of the same daemon.
    public struct Mount: Sendable, Hashable {
        /// `MAJOR:MINOR`.
        public var device: String
        /// Of the same backing directory.
        public var isSame: Bool

        public init(device: String, isSame: Bool) { (self.device, self.isSame) = (device, isSame) }
    }

    public var backing: [Place]
    /// Directories of grants.
    public var stores: [Place]
    public var mounts: [Mount]

    public init(backing: [Place], stores: [Place], mounts: [Mount]) {
        (self.backing, self.stores, self.mounts) = (backing, stores, mounts)
    }
}

extension PlacesForm {
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
            .init(.mounts, .array(mounts.map { .object([.init(.device, $0.device), .init(.same, $0.isSame)]) })),
        ]
    }

    /// nil if any part of the message is malformed: then the places to hide are unknown.
    init?(_ json: JSON) {
        guard let places = json[.backing]?.array, let served = json[.mounts]?.array else { return nil }
        self.init(backing: [], stores: [], mounts: [])
        for place in places {
            guard let device = place[.device]?.string, let path = place.path(.path), let isSource = place[.source]?.bool else {
                return nil
            }
            let inode = place[.inode]?.string.flatMap { UInt64($0) }
            backing.append(Place(device: device, names: path.pathNames, isSource: isSource, inode: inode))
        }
        // A question to another user's daemon contains no stores.
        for store in json[.stores]?.array ?? [] {
            guard let device = store[.device]?.string, let path = store.path(.path) else { return nil }
            stores.append(Place(device: device, names: path.pathNames, isSource: false))
        }
        for mount in served {
            guard let device = mount[.device]?.string, let isSame = mount[.same]?.bool else { return nil }
            mounts.append(Mount(device: device, isSame: isSame))
        }
        if !backing.contains(where: { $0.isSource }) || mounts.isEmpty { return nil }
    }
}

extension PlacesForm.Place {
    fileprivate var location: [JSON.Member] {
        [.init(.device, device), .init(.path, path: [0x2F] + Array(names.joined(separator: [0x2F])))]
    }
}
