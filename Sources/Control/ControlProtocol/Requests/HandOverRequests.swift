import ACLFormats

/// `serves`: whether a daemon serves a tree that a directory belongs to.
public struct ServesMessage: ControlRequest {
    public typealias Answer = ServesAnswer
    public static let command = ControlCommand.serves

    /// The directory and all that it lies in, as `DEVICE:INODE`.
    public var ancestors: [String]

    public init(ancestors: [String]) { self.ancestors = ancestors }

    public init(reading message: ReceivedRequest) {
        ancestors = (message.json[.ancestors]?.array ?? []).compactMap(\.string)
    }

    public var members: [JSON.Member] { [.init(.ancestors, .texts(ancestors))] }
}

/// `serve`: a mount that the daemon is to take. Descriptors of /dev/fuse and of the directory go along.
public struct ServeMessage: ControlRequest {
    public typealias Answer = DoneAnswer
    public static let command = ControlCommand.serve

    public var source: String
    /// What messages call the source.
    public var name: String
    public var mountpoint: String
    /// `MAJOR:MINOR`.
    public var device: String
    /// The name of the attribute that records are kept in.
    public var metadata: String
    /// Each as after `-o`.
    public var options: [String]
    /// nil for a mount that nothing confines.
    public var profile: ProfileForm?

    /// Also of the descriptors.
    public static let incomplete = "an incomplete message"
    public static let withoutProfile = "an incomplete message: no profile"

    public init(
        source: String, name: String, mountpoint: String, device: String, metadata: String, options: [String], profile: ProfileForm?
    ) {
        (self.source, self.name, self.mountpoint, self.device) = (source, name, mountpoint, device)
        (self.metadata, self.options, self.profile) = (metadata, options, profile)
    }

    public init(reading message: ReceivedRequest) throws(RequestProblem) {
        let json = message.json
        guard let source = json[.source]?.string, let name = json[.name]?.string, let mountpoint = json[.mountpoint]?.string,
            let device = json[.device]?.string, let metadata = json[.metadata]?.string, let options = json[.options]?.array
        else { throw .malformed(Self.incomplete) }
        self.init(
            source: source, name: name, mountpoint: mountpoint, device: device, metadata: metadata,
            options: options.map { $0.string ?? "" }, profile: json[.profile].map { ProfileForm(reading: $0) })
    }

    public var members: [JSON.Member] {
        [
            .init(.source, source), .init(.name, name), .init(.mountpoint, mountpoint), .init(.device, device),
            .init(.metadata, metadata), .init(.options, .texts(options)),
        ] + (profile.map { [.init(.profile, $0.json)] } ?? [])
    }
}
