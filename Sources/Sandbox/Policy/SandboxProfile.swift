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

extension EntitledAccess {
    /// The ending of the keys that grant it.
    public var word: String {
        switch self {
        case .readOnly: "read-only"
        case .readWrite: "read-write"
        }
    }
}
