import ACLFormats

/// The confinement of one mount: the entitlements, and the path of the application's container.
public struct SandboxProfile: Sendable, Hashable {
    /// The name in messages: an installed name, or the path of the file.
    public var name: String
    /// The absolute path of its file, if known.
    public var file: String?
    public var entitlements: Entitlements
    /// nil for a profile without a container.
    public var bundle: String?
    /// Names from the mount's root.
    public var home: [[UInt8]]
    public var layout: ContainerLayout
    /// Places where nothing is permitted, whatever a key or a grant says: the files that decide about this profile. The daemon sets
    /// them; control messages do not contain them.
    public var closed: [[[UInt8]]] = []

    public init(
        name: String, entitlements: Entitlements, bundle: String?, home: [[UInt8]], layout: ContainerLayout = .macos
    ) {
        self.name = name
        self.entitlements = entitlements
        self.bundle = bundle
        self.home = home
        self.layout = layout
    }

    /// The profile as a table, with the valid grants of its bundle. A grant allows no more than the profile's `user-selected` key.
    /// - Parameters:
    ///   - grants: of all bundles.
    ///   - time: in seconds since 1970.
    /// - Throws: if a place is invalid, or there are too many.
    public func table(grants: [Grant] = [], at time: Int64 = 0) throws(EntitlementProblem) -> ZoneTable {
        let places = entitlements.places(home: home) + usable(grants, at: time)
        return try ZoneTable(places, bundle: bundle, home: home, layout: layout, closed: closed)
    }

    /// The time when the first of the valid grants ends, in seconds since 1970; nil if none ends.
    public func nextExpiry(of grants: [Grant], after time: Int64) -> Int64? {
        grants.filter { $0.bundle == bundle && $0.isValid(at: time) }.compactMap { $0.expires }.min()
    }

    /// Whether grants apply: the profile has a container and lets the user select places.
    public var takesGrants: Bool { bundle != nil && entitlements.userSelected != nil }

    private func usable(_ grants: [Grant], at time: Int64) -> [EntitledPlace] {
        guard let most = entitlements.userSelected else { return [] }
        return grants.filter { $0.bundle == bundle && $0.isValid(at: time) }.map { grant in
            let access = min(grant.access, most)
            // The key in the profile, even if the grant allows less.
            return EntitledPlace(
                path: grant.path, isDirectory: grant.isDirectory, access: access,
                key: "com.apple.security.files.user-selected.\(most.word) (granted\(access == most ? "" : " \(access.word)"))")
        }
    }
}

// MARK: As a control message

extension SandboxProfile {
    public var json: JSON {
        var members: [JSON.Member] = [.init("name", .string(name)), .init("layout", .string(layout.rawValue))]
        if let file { members.append(.init("file", .string(file))) }
        if let bundle { members.append(.init("bundle", .string(bundle))) }
        members.append(JSON.path(home.joinedPath, name: "home"))
        members.append(.init("entitlements", entitlements.json))
        return .object(members)
    }

    /// The profile for users.
    public var summary: JSON {
        var members: [JSON.Member] = [.init("profile", .string(name))]
        if let file { members.append(.init("file", .string(file))) }
        if let bundle { members.append(.init("bundle", .string(bundle))) }
        members.append(JSON.path(home.isEmpty ? [0x2F] : home.joinedPath, name: "home"))
        if bundle != nil { members.append(.init("layout", .string(layout.rawValue))) }
        return .object(members)
    }

    /// - Throws: the member that is missing or malformed.
    public init(_ json: JSON) throws(EntitlementProblem) {
        func missing(_ what: String) -> EntitlementProblem { EntitlementProblem(key: what, message: "missing or malformed") }
        guard let name = json["name"]?.string else { throw missing("name") }
        guard let layout = json["layout"]?.string.flatMap(ContainerLayout.init) else { throw missing("layout") }
        guard let home = json.path("home") else { throw missing("home") }
        if let fault = PlaceName.fault(home.pathNames) {
            throw EntitlementProblem(key: "home", message: fault)
        }
        guard let entitlements = json["entitlements"] else { throw missing("entitlements") }
        if let bundle = json["bundle"], bundle.string == nil { throw missing("bundle") }
        self.init(
            name: name, entitlements: try Entitlements(entitlements), bundle: json["bundle"]?.string,
            home: home.pathNames, layout: layout)
        file = json["file"]?.string
    }
}

extension Entitlements {
    /// The values of the property list.
    var json: JSON {
        .object(values.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.json) })
    }

    init(_ json: JSON) throws(EntitlementProblem) {
        guard case .object(let members) = json else {
            throw EntitlementProblem(key: "entitlements", message: "must be a dictionary")
        }
        var values: [String: EntitlementValue] = [:]
        for member in members { values[member.name] = EntitlementValue(member.value) }
        try self.init(values)
    }
}

extension EntitlementValue {
    var json: JSON {
        switch self {
        case .flag(let flag): .bool(flag)
        case .text(let text): .string(text)
        case .list(let values): .array(values.map { $0.json })
        case .other: .null
        }
    }

    init(_ json: JSON) {
        switch json {
        case .bool(let flag): self = .flag(flag)
        case .string(let text): self = .text(text)
        case .array(let values): self = .list(values.map { EntitlementValue($0) })
        case .null, .integer, .object: self = .other
        }
    }
}

extension EntitledAccess {
    /// The ending of the keys that grant it.
    public var word: String {
        switch self {
        case .readOnly: "read-only"
        case .readWrite: "read-write"
        }
    }
}
