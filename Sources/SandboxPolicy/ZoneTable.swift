import Authorization

/// A zone's place in its table. Each node that a confined mount shows carries one.
public struct ZoneID: Hashable, Sendable {
    public let rawValue: UInt16
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    /// Of the mount's top.
    public static let top = ZoneID(0)
}

/// A profile compiled: from a place to the rights that may pass there. Every step down the tree is one look-up of one
/// name, and the place itself is one number.
public struct ZoneTable: Sendable {
    public struct Zone: Sendable {
        /// What may pass on the object itself.
        public var rights: Rights
        /// The key or the container's place that allows most here; nil where nothing does.
        public var source: String?
        public var kind: ZoneKind
        /// Names that lead elsewhere than all others.
        var children: [[UInt8]: ZoneID] = [:]
        /// Where any other name leads.
        var others: ZoneID
        /// Where names that end in `.app` lead.
        var applications: ZoneID?
        /// A zone's root or on the way to one: it can be neither renamed, exchanged nor removed from inside.
        public var isFixed = false
    }

    public let zones: [Zone]

    public subscript(_ id: ZoneID) -> Zone { zones[Int(id.rawValue)] }

    /// The zone of a name in a directory of this zone. Names compare as bytes.
    public func zone(of name: [UInt8], below id: ZoneID) -> ZoneID {
        let zone = zones[Int(id.rawValue)]
        if let child = zone.children[name] { return child }
        if let applications = zone.applications, name.suffix(4).elementsEqual(".app".utf8) { return applications }
        return zone.others
    }

    /// Whether an object may go from one zone to another: only where nothing is allowed that was not before, and out of
    /// the Inbox into Documents, as the guide asks applications to do.
    public func permitsMove(from source: ZoneID, to destination: ZoneID) -> Bool {
        if self[source].kind == .inbox, self[destination].kind == .documents { return true }
        return self[source].rights.isSuperset(of: self[destination].rights)
    }
}

extension ZoneTable {
    /// - Parameters:
    ///   - bundle: nil for a profile without a container.
    ///   - home: from the mount's top.
    /// - Throws: if there would be more zones than a node can name, or a place cannot be one.
    init(
        _ places: [EntitledPlace], bundle: String?, home: [[UInt8]], layout: ContainerLayout, closed: [[[UInt8]]] = []
    ) throws(EntitlementProblem) {
        var builder = ZoneTreeBuilder()
        for place in places { builder.add(place) }
        if let bundle {
            for rule in try layout.rules(bundle: bundle, home: home) { builder.add(rule, layout) }
        }
        for path in closed { builder.close(path) }
        zones = try builder.flattened()
    }
}
