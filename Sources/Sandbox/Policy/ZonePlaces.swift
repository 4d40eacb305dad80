/// A row of a table for users.
public struct ZonePlace: Sendable, Hashable {
    /// The objects at a place that a row applies to.
    public enum Reach: String, Sendable, Hashable {
        /// The object and everything below it.
        case all
        /// Only the object.
        case object
        /// Everything below it.
        case below
        /// The names below it that end in `.app`.
        case applications
    }

    /// Names from the mount's root.
    public var path: [[UInt8]]
    public var reach: Reach
    public var kind: ZoneKind
    public var source: String?

    /// `/Users/ann/Downloads/`; a slash at the end means everything below it, too.
    public var text: [UInt8] {
        let path: [UInt8] = path.flatMap { [0x2F] + $0 }
        return switch reach {
        case .all: path + [0x2F]
        case .object: path.isEmpty ? [0x2F] : path
        case .below: path + Array("/*".utf8)
        case .applications: path + Array("/*.app/".utf8)
        }
    }
}

extension ZoneTable {
    /// Every place with other rights than around it, without those that only lead to a zone.
    public var places: [ZonePlace] {
        var found: [ZonePlace] = []
        let outside = ZonePlace(path: [], reach: .all, kind: .outside, source: nil)
        collect(.top, [], around: outside, &found)
        return found
    }

    private func collect(_ id: ZoneID, _ path: [[UInt8]], around: ZonePlace, _ found: inout [ZonePlace]) {
        let zone = self[id]
        let others = self[zone.others]
        func add(_ zone: Zone, _ reach: ZonePlace.Reach) {
            let isAround = zone.kind == around.kind && zone.source == around.source
            if isAround || [.passage, .unlisted].contains(zone.kind) && around.kind == .outside { return }
            found.append(ZonePlace(path: path, reach: reach, kind: zone.kind, source: zone.source))
        }
        if zone.kind == others.kind, zone.source == others.source {
            add(zone, .all)
        } else {
            add(zone, .object)
            add(others, .below)
        }
        let inner = ZonePlace(path: path, reach: .below, kind: others.kind, source: others.source)
        if let applications = zone.applications, self[applications].kind != others.kind {
            found.append(
                ZonePlace(
                    path: path, reach: .applications, kind: self[applications].kind, source: self[applications].source))
        }
        for (name, child) in zone.children.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            collect(child, path + [name], around: inner, &found)
        }
    }

    /// The zone of a path from the mount's root.
    public func zone(of path: [[UInt8]]) -> ZoneID { path.reduce(.top) { zone(of: $1, below: $0) } }
}

extension ZoneKind {
    /// The rights of the zone, for users.
    public var text: String {
        switch self {
        case .outside, .unlisted: "nothing"
        case .passage: "pass through"
        case .readOnly: "read and execute"
        case .readWrite, .container, .documents: "read, write and execute"
        case .purgeable: "read, write and execute, not backed up"
        case .containerTop: "list, no new names"
        case .bundle: "read and execute, not backed up"
        case .inbox: "read, execute and delete"
        }
    }
}
