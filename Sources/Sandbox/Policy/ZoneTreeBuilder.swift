import Authorization

/// Collects the rules of a profile in a tree of names and compiles it to a table.
struct ZoneTreeBuilder {
    private final class Place {
        var children: [[UInt8]: Place] = [:]
        /// The rules for this object and everything below it; several add up.
        var subtree: [(kind: ZoneKind, source: String)] = []
        /// The rules for this object only.
        var own: [(kind: ZoneKind, source: String)] = []
        /// A container's rule replaces those above it instead of adding to them.
        var isContainer = false
        var holdsApplications = false
        var isClosed = false

        /// Whether the place matters inside a container, where keys and grants do not apply.
        var countsInsideContainer: Bool {
            isContainer || isClosed || children.values.contains { $0.countsInsideContainer }
        }
    }

    private let top = Place()

    private func place(_ path: [[UInt8]]) -> Place {
        var place = top
        for name in path {
            let next = place.children[name] ?? Place()
            place.children[name] = next
            place = next
        }
        return place
    }

    mutating func add(_ entitled: EntitledPlace) {
        let kind: ZoneKind = entitled.access == .readOnly ? .readOnly : .readWrite
        let place = place(entitled.path)
        if entitled.isDirectory {
            place.subtree.append((kind, entitled.key))
        } else {
            place.own.append((kind, entitled.key))
        }
    }

    mutating func add(_ rule: ContainerRule, _ layout: ContainerLayout) {
        let place = place(rule.path)
        place.isContainer = true
        place.subtree = [(rule.zone, "container:\(rule.name)")]
        place.own = []
        // An application's bundle is read-only in each container that can have one.
        place.holdsApplications = rule.zone == .container || rule.zone == .bundle
    }

    mutating func close(_ path: [[UInt8]]) { place(path).isClosed = true }

    func flattened() throws(EntitlementProblem) -> [ZoneTable.Zone] {
        var zones: [ZoneTable.Zone] = []
        try flatten(top, above: [], insideContainer: false, &zones)
        return zones
    }

    /// A rule that grants something: a key or a container's.
    private typealias Source = (kind: ZoneKind, source: String)

    private static let application: Source = (.bundle, "container:AppName.app")

    @discardableResult
    private func flatten(
        _ place: Place, above: [Source], insideContainer: Bool, _ zones: inout [ZoneTable.Zone]
    ) throws(EntitlementProblem) -> ZoneID {
        if place.isClosed {
            let id = try append(zone([], isPassage: false), &zones)
            zones[Int(id.rawValue)].isFixed = true
            zones[Int(id.rawValue)].others = id
            return id
        }
        let isInside = insideContainer || place.isContainer
        let children = place.children.filter { !isInside || $0.value.countsInsideContainer }
        // Inside a container only its layout applies.
        let below: [Source] = place.isContainer ? place.subtree : insideContainer ? above : above + place.subtree
        let here: [Source] = place.isContainer || insideContainer ? below : below + place.own
        // Every path begins at the root, which is accessible even if no zone is below it.
        let id = try append(zone(here, isPassage: !children.isEmpty || place === top), &zones)
        zones[Int(id.rawValue)].isFixed = !children.isEmpty || !place.subtree.isEmpty || !place.own.isEmpty
        zones[Int(id.rawValue)].isForDirectory = !children.isEmpty || !place.subtree.isEmpty
        // The zone of everything below without a rule. A leaf without own rules has its own zone below, too.
        let others: ZoneID
        if place !== top, children.isEmpty, place.own.isEmpty, place.subtree.isEmpty, !place.holdsApplications {
            others = id
        } else {
            let beside = below.filter { $0.kind != .containerTop }
            others = try append(zone(beside, isPassage: false), &zones)
            zones[Int(others.rawValue)].others = others
            if beside.count < below.count, beside.isEmpty { zones[Int(others.rawValue)].kind = .unlisted }
        }
        zones[Int(id.rawValue)].others = others
        if place.holdsApplications {
            let applications = try append(zone([Self.application], isPassage: false), &zones)
            zones[Int(applications.rawValue)].others = applications
            zones[Int(id.rawValue)].applications = applications
        }
        for (name, child) in children.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let isApplication = place.holdsApplications && name.suffix(4).elementsEqual(".app".utf8)
            zones[Int(id.rawValue)].children[name] = try flatten(
                child, above: isApplication ? [Self.application] : below, insideContainer: isInside, &zones)
        }
        return id
    }

    private func zone(_ sources: [Source], isPassage: Bool) -> ZoneTable.Zone {
        let rights = sources.reduce(into: Rights()) { $0.formUnion($1.kind.rights) }
        let widest = sources.max { $0.kind.rights.rawValue.nonzeroBitCount < $1.kind.rights.rawValue.nonzeroBitCount }
        let passing = isPassage ? ZoneKind.passage.rights : []
        return ZoneTable.Zone(
            rights: rights.union(passing), source: widest?.source, kind: widest?.kind ?? (isPassage ? .passage : .outside),
            others: .top)
    }

    private func append(_ zone: ZoneTable.Zone, _ zones: inout [ZoneTable.Zone]) throws(EntitlementProblem) -> ZoneID {
        guard zones.count < Int(UInt16.max) else {
            throw EntitlementProblem(key: "profile", message: "it names more places than can be kept apart (65 535)")
        }
        zones.append(zone)
        return ZoneID(UInt16(zones.count - 1))
    }
}
