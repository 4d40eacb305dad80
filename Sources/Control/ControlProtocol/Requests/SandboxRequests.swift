import ACLFormats

/// `places`: what there is to cover. A descriptor of the mount's top goes along, or its number.
public struct PlacesMessage: ControlRequest {
    public typealias Answer = PlacesAnswer
    public static let command = ControlCommand.places
    public init() {}
    public var members: [JSON.Member] { [] }
}

/// `shows`: whether a daemon serves anything of another one's places.
public struct ShowsMessage: ControlRequest {
    public typealias Answer = ShowsAnswer
    public static let command = ControlCommand.shows

    public var places: SandboxPlaces

    /// Also of places that are not understood.
    public static let missing = "no places"

    public init(places: SandboxPlaces) { self.places = places }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        guard let places = message.json[.places].flatMap({ SandboxPlaces($0) }) else { throw .malformed(Self.missing) }
        self.places = places
    }

    public var members: [JSON.Member] { [.init(.places, places.json)] }
}

/// `view`: a mount for a sandbox. A descriptor of the mount's top goes along; to an ordinary user's daemon also one of /dev/fuse.
public struct ViewMessage: ControlRequest {
    public typealias Answer = ViewAnswer
    public static let command = ControlCommand.view

    public var profile: ProfileForm
    /// `MAJOR:MINOR` of the mount that is handed over; nil if the daemon is to make one.
    public var device: String?

    /// Also of the descriptors.
    public static let incomplete = "an incomplete message: profile and a descriptor of the mount's top"
    public static let withoutDevice = "an incomplete message: device"

    public init(_ profile: ProfileForm, device: String? = nil) { (self.profile, self.device) = (profile, device) }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        guard let profile = message.json[.profile] else { throw .malformed(Self.incomplete) }
        self.profile = ProfileForm(reading: profile)
        device = message.json[.device]?.string
    }

    public var members: [JSON.Member] { [.init(.profile, profile.json)] + (device.map { [.init(.device, $0)] } ?? []) }
}
