import ACLFormats

/// The answer to `places`, and the part of the answer to `view` that says the same.
public struct PlacesAnswer: ControlAnswer, Hashable {
    public let json: JSON

    /// - Parameter isConfined: whether the mount is; nil if the daemon does not say.
    public init(_ places: SandboxPlaces, isConfined: Bool? = nil) {
        json = .object((isConfined.map { [.init(.confined, $0)] } ?? []) + places.members)
    }

    public init(reading result: JSON) { json = result }

    public var isConfined: Bool { json[.confined]?.bool == true }
    /// nil if they are not understood: then no command knows what to hide.
    public var places: SandboxPlaces? { SandboxPlaces(json) }
    /// nil also if the daemon does not say where grants are kept, as an earlier version.
    public var placesWithStores: SandboxPlaces? { json[.stores] == nil ? nil : places }
}

/// The answer to `shows`: whether this daemon serves anything of another one's places. nil if the daemon does not say: an earlier version
/// looks for the share alone.
public struct ShowsAnswer: ControlAnswer, Hashable {
    /// The share.
    public var shows: Bool?
    /// Kept grants, and control sockets.
    public var stores: Bool?
    /// Processes, control groups or FUSE connections.
    public var controls: Bool?

    public init(shows: Bool, stores: Bool, controls: Bool) { (self.shows, self.stores, self.controls) = (shows, stores, controls) }

    public init(reading result: JSON) {
        (shows, stores, controls) = (result[.shows]?.bool, result[.stores]?.bool, result[.controls]?.bool)
    }

    public var json: JSON {
        func flag(_ name: MemberName, _ flag: Bool?) -> JSON.Member { .init(name, flag.map { .bool($0) } ?? .null) }
        return .object([flag(.shows, shows), flag(.stores, stores), flag(.controls, controls)])
    }
}

/// The answer to `view`. A descriptor of the new mount goes along where the daemon made it.
public struct ViewAnswer: ControlAnswer, Hashable {
    /// nil if the daemon does not say.
    public var places: PlacesAnswer?
    /// `MAJOR:MINOR`.
    public var device: String?

    public init(_ places: SandboxPlaces, device: String) { (self.places, self.device) = (PlacesAnswer(places), device) }

    public init(reading result: JSON) {
        (places, device) = (result[.places].map { PlacesAnswer(reading: $0) }, result[.device]?.string)
    }

    public var json: JSON {
        .object([.init(.places, places?.json ?? .null), .init(.device, device.map { .string($0) } ?? .null)])
    }
}

/// The answer to `serves`.
public struct ServesAnswer: ControlAnswer, Hashable {
    /// Whether a mount of one of the directories belongs to this daemon.
    public var serves: Bool

    public init(serves: Bool) { self.serves = serves }

    public init(reading result: JSON) { serves = result[.serves]?.bool == true }

    public var json: JSON { .object([.init(.serves, serves)]) }
}
