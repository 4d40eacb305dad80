/// What confines one mount: the entitlements, and where the application's container lies.
public struct SandboxProfile: Sendable, Hashable {
    /// What messages call it: an installed name, or the path that it was read from.
    public var name: String
    /// The whole path of the file that it was read from, where that is known.
    public var file: String?
    public var entitlements: Entitlements
    /// nil for a profile without a container.
    public var bundle: String?
    /// Names from the mount's top.
    public var home: [[UInt8]]
    public var layout: ContainerLayout
    /// Where nothing passes whatever a key or a grant says: what decides about this very profile. The daemon's affair,
    /// so it stands in no message.
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

    /// The profile as a table, with the grants of its bundle that count at a time (seconds since 1970). A grant goes no
    /// further than the profile's `user-selected` key lets it.
    public func table(grants: [Grant] = [], at time: Int64 = 0) throws(EntitlementProblem) -> ZoneTable {
        let places = entitlements.places(home: home) + usable(grants, at: time)
        return try ZoneTable(places, bundle: bundle, home: home, layout: layout, closed: closed)
    }

    /// When the first of the grants that count at a time ends; nil if none does.
    public func nextExpiry(of grants: [Grant], after time: Int64) -> Int64? {
        grants.filter { $0.bundle == bundle && $0.counts(at: time) }.compactMap { $0.expires }.min()
    }

    /// Whether grants have anything to say: to an application whose profile lets the user indicate places.
    public var takesGrants: Bool { bundle != nil && entitlements.userSelected != nil }

    private func usable(_ grants: [Grant], at time: Int64) -> [EntitledPlace] {
        guard let most = entitlements.userSelected else { return [] }
        return grants.filter { $0.bundle == bundle && $0.counts(at: time) }.map { grant in
            let access = min(grant.access, most)
            // The key is the one that stands in the profile, also where the grant goes less far.
            return EntitledPlace(
                path: grant.path, isDirectory: grant.isDirectory, access: access,
                key: "com.apple.security.files.user-selected.\(most.word) (granted\(access == most ? "" : " \(access.word)"))")
        }
    }
}

extension EntitledAccess {
    /// The ending of the keys that give it.
    public var word: String {
        switch self {
        case .readOnly: "read-only"
        case .readWrite: "read-write"
        }
    }
}
