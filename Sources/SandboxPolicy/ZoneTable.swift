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
        /// Of a fixed place: a directory stands there, or is to; otherwise it is one object of any other kind.
        public var isForDirectory = false
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

    /// As above, without a copy of the name where no name leads elsewhere than others: nearly everywhere.
    public func zone(of name: UnsafeBufferPointer<UInt8>, below id: ZoneID) -> ZoneID {
        let others = zone(ofUnnamedBelow: id)
        if zones[Int(id.rawValue)].children.isEmpty, zones[Int(id.rawValue)].applications == nil { return others }
        return zone(of: Array(name), below: id)
    }

    /// The zone of what has no name in a directory of this zone, and of most that has one.
    public func zone(ofUnnamedBelow id: ZoneID) -> ZoneID { zones[Int(id.rawValue)].others }

    /// Whether an object may go from one zone to another: only where nothing is allowed that was not before, and out of
    /// the Inbox into Documents, as the guide asks applications to do.
    public func permitsMove(from source: ZoneID, to destination: ZoneID) -> Bool {
        isWayOutOfInbox(from: source, to: destination) || permitsLink(from: source, to: destination)
    }

    /// The one move by which an object comes to where more may be done with it.
    public func isWayOutOfInbox(from source: ZoneID, to destination: ZoneID) -> Bool {
        self[source].kind == .inbox && self[destination].kind == .documents
    }

    /// Whether an object of one zone may get a further name in another.
    public func permitsLink(from source: ZoneID, to destination: ZoneID) -> Bool {
        self[source].rights.isSuperset(of: self[destination].rights)
    }
}

extension ZoneTable {
    /// Of a profile that cannot be compiled: nothing passes anywhere.
    public static let nothing = ZoneTable(
        zones: [Zone(rights: [], source: nil, kind: .outside, others: .top)])

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
