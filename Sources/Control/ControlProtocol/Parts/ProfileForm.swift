import ACLFormats
import SandboxPolicy

/// A profile that another process has compiled, in the form of a message. It is read when it is needed: a client may have sent anything.
public struct ProfileForm: Sendable, Hashable {
    let json: JSON

    public init(_ profile: SandboxProfile) { json = profile.json }

    init(reading json: JSON) { self.json = json }

    /// - Throws: the member that is missing or malformed.
    public func profile() throws(EntitlementProblem) -> SandboxProfile { try SandboxProfile(json) }
}

extension SandboxProfile {
    /// Bytes in a message.
    public var messageSize: Int { JSONText.write(json).count }

    public var json: JSON {
        var members: [JSON.Member] = [.init(.name, name), .init(.layout, layout.rawValue)]
        if let file { members.append(.init(.file, file)) }
        if let bundle { members.append(.init(.bundle, bundle)) }
        members.append(.init(.home, path: home.joinedPath))
        members.append(.init(.entitlements, entitlements.json))
        return .object(members)
    }

    /// - Throws: the member that is missing or malformed.
    public init(_ json: JSON) throws(EntitlementProblem) {
        func missing(_ member: MemberName) -> EntitlementProblem {
            EntitlementProblem(key: member.rawValue, message: "missing or malformed")
        }
        guard let name = json[.name]?.string else { throw missing(.name) }
        guard let layout = json[.layout]?.string.flatMap(ContainerLayout.init) else { throw missing(.layout) }
        guard let home = json.path(.home) else { throw missing(.home) }
        if let fault = PlaceName.fault(home.pathNames) {
            throw EntitlementProblem(key: MemberName.home.rawValue, message: fault)
        }
        guard let entitlements = json[.entitlements] else { throw missing(.entitlements) }
        if let bundle = json[.bundle], bundle.string == nil { throw missing(.bundle) }
        self.init(
            name: name, entitlements: try Entitlements(entitlements), bundle: json[.bundle]?.string, home: home.pathNames,
            layout: layout)
        file = json[.file]?.string
    }
}

extension Entitlements {
    /// The values of the property list.
    var json: JSON {
        .object(values.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.json) })
    }

    init(_ json: JSON) throws(EntitlementProblem) {
        guard case .object(let members) = json else {
            throw EntitlementProblem(key: MemberName.entitlements.rawValue, message: "must be a dictionary")
        }
        var values: [String: EntitlementValue] = [:]
        for member in members { values[member.name] = EntitlementValue(member.value) }
        try self.init(values)
    }
}

extension EntitlementValue {
    fileprivate var json: JSON {
        switch self {
        case .flag(let flag): .bool(flag)
        case .text(let text): .string(text)
        case .list(let values): .array(values.map { $0.json })
        case .other: .null
        }
    }

    fileprivate init(_ json: JSON) {
        switch json {
        case .bool(let flag): self = .flag(flag)
        case .string(let text): self = .text(text)
        case .array(let values): self = .list(values.map { EntitlementValue($0) })
        case .null, .integer, .object: self = .other
        }
    }
}

/// The profile for users: in the status, and by commands.
public struct ProfileSummary: Sendable, Hashable {
    /// In their order.
    public let members: [JSON.Member]

    /// - Parameter closed: why nothing passes; nil where what the profile says does.
    public init(_ profile: SandboxProfile, closed: String? = nil) {
        var members: [JSON.Member] = [.init(.profile, profile.name)]
        if let file = profile.file { members.append(.init(.file, file)) }
        if let bundle = profile.bundle { members.append(.init(.bundle, bundle)) }
        members.append(.init(.home, path: profile.home.isEmpty ? [0x2F] : profile.home.joinedPath))
        if profile.bundle != nil { members.append(.init(.layout, profile.layout.rawValue)) }
        if let closed { members.append(.init(.closed, closed)) }
        self.members = members
    }

    /// nil where none confines the mount.
    init?(reading json: JSON) {
        guard case .object(let members) = json else { return nil }
        self.members = members
    }

    private var json: JSON { .object(members) }

    /// An installed name, or the path that it was read from.
    public var name: String? { json[.profile]?.string }
    public var file: String? { json[.file]?.string }
    public var bundle: String? { json[.bundle]?.string }
    public var home: [UInt8]? { json.path(.home) }
    public var layout: String? { json[.layout]?.string }
    public var closed: String? { json[.closed]?.string }
}
