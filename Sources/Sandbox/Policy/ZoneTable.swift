import Authorization

/// The index of a zone in its table. Each node of a confined mount has one.
public struct ZoneID: Hashable, Sendable {
    public let rawValue: UInt16
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }
    /// The zone of the mount's root.
    public static let top = ZoneID(0)
}

/// A compiled profile: it maps a place to the rights that it permits there. Each step down the tree is one look-up of a name, and
/// the place is a number.
public struct ZoneTable: Sendable {
    /// The rules for all objects of a zone.
    public struct Zone: Sendable {
        /// The rights on the object itself.
        public var rights: Rights
        /// The key or the container's place that grants most here; nil where nothing does.
        public var source: String?
        public var kind: ZoneKind
        /// The zones of names with rules of their own.
        var children: [[UInt8]: ZoneID] = [:]
        /// The zone of all other names.
        var others: ZoneID
        /// The zone of names that end in `.app`.
        var applications: ZoneID?
        /// The root of a zone or an ancestor of one: programs inside can neither rename, exchange nor remove it.
        public var isFixed = false
        /// For a fixed place: it is, or will be, a directory; otherwise it is an object of another kind.
        public var isForDirectory = false
    }

    public let zones: [Zone]

    /// The zone with this index.
    public subscript(_ id: ZoneID) -> Zone { zones[Int(id.rawValue)] }

    /// The zone of a name in a directory of this zone. Names compare as bytes.
    public func zone(of name: [UInt8], below id: ZoneID) -> ZoneID {
        let zone = zones[Int(id.rawValue)]
        if let child = zone.children[name] { return child }
        if let applications = zone.applications, name.suffix(4).elementsEqual(".app".utf8) { return applications }
        return zone.others
    }

    /// As above, without a copy of the name where no name has a rule: nearly everywhere.
    public func zone(of name: UnsafeBufferPointer<UInt8>, below id: ZoneID) -> ZoneID {
        let others = zone(ofUnnamedBelow: id)
        if zones[Int(id.rawValue)].children.isEmpty, zones[Int(id.rawValue)].applications == nil { return others }
        return zone(of: Array(name), below: id)
    }

    /// The zone of an object without a name in a directory of this zone, and of most objects with one.
    public func zone(ofUnnamedBelow id: ZoneID) -> ZoneID { zones[Int(id.rawValue)].others }

    /// Whether an object may move between zones: only if it does not gain rights, and from the Inbox to Documents, as the guide
    /// tells applications.
    public func permitsMove(from source: ZoneID, to destination: ZoneID) -> Bool {
        isMoveOutOfInbox(from: source, to: destination) || permitsLink(from: source, to: destination)
    }

    /// Whether it is the only move by which an object gains rights.
    public func isMoveOutOfInbox(from source: ZoneID, to destination: ZoneID) -> Bool {
        self[source].kind == .inbox && self[destination].kind == .documents
    }

    /// Whether an object of one zone may have another name in another zone.
    public func permitsLink(from source: ZoneID, to destination: ZoneID) -> Bool {
        self[source].rights.isSuperset(of: self[destination].rights)
    }
}

extension ZoneTable {
    /// The table of a profile that cannot be compiled: nothing is permitted anywhere.
    public static let nothing = ZoneTable(
        zones: [Zone(rights: [], source: nil, kind: .outside, others: .top)])

    /// - Parameters:
    ///   - places: the places of keys and grants.
    ///   - bundle: nil for a profile without a container.
    ///   - home: names from the mount's root.
    ///   - layout: of the container.
    ///   - closed: places where nothing is permitted.
    /// - Throws: if there are more zones than a node can refer to, or a place is invalid.
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

    /// The zones of a container whose own directory is the root.
    init(inside layout: ContainerLayout) {
        var builder = ZoneTreeBuilder()
        for rule in layout.rulesInside { builder.add(rule, layout) }
        // A handful of zones: they always fit.
        zones = (try? builder.flattened()) ?? Self.nothing.zones
    }
}
