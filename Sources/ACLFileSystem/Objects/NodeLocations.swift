import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

// Z1 to Z4 (docs/sandbox-zones.md): an object is judged by where it is. A directory's place is asked of the kernel, a
// file's is its name in a directory. What was found out counts until a directory moves or the policy changes, and for
// 50 ms because of changes behind the mount.

extension ObjectLoader {
    /// Where a node stands now. All under the metadata lock, so that no directory moves meanwhile.
    func location(of node: Node, _ descriptor: SharedDescriptor, _ status: FileStatus) -> EffectiveLocation {
        guard let view else { return .unconfined }
        let policy = view.policy
        if node.id == .root || node.object === tree.root { return EffectiveLocation(.top, policy) }
        let location = view.locations.withLock { $0[node.id] } ?? NodeLocation()
        if let cachedZone = location.cachedZone, cachedZone.policy === policy {
            if !node.isDirectory, location.names.isEmpty {
                // Nothing has a name any more: it stays what it was when it lost the last.
                if status.nlink == 0 { return EffectiveLocation(cachedZone.zone, policy) }
            } else if cachedZone.moves == share.moves.load(ordering: .sequentiallyConsistent),
                cachedZone.expiry == .max || SystemTime.monotonic() < cachedZone.expiry
            {
                return EffectiveLocation(cachedZone.zone, policy)
            }
        }
        let zone =
            node.isDirectory
            ? zone(ofDirectory: descriptor, status, policy) : zone(ofFile: location, status, policy)
        note(zone, policy, of: node)
        return EffectiveLocation(zone, policy)
    }

    var locationOfTop: EffectiveLocation { view.map { EffectiveLocation(.top, $0.policy) } ?? .unconfined }

    private func zone(ofDirectory descriptor: SharedDescriptor, _ status: FileStatus, _ policy: CompiledPolicy)
        -> ZoneID?
    {
        tree.names(to: descriptor, status)?.reduce(ZoneID.top) { policy.table.zone(of: $1, below: $0) }
    }

    /// By all names that it still has; if they do not agree, by the one that lets least pass.
    private func zone(ofFile location: NodeLocation, _ status: FileStatus, _ policy: CompiledPolicy) -> ZoneID? {
        func zoneOf(_ name: NodeLocation.Name) -> ZoneID? {
            guard let descriptor = try? tree.descriptor(of: name.parent),
                let parent = try? Syscall.statx(descriptor.rawValue)
            else { return nil }
            guard let above = zone(ofDirectory: descriptor, parent, policy) else { return nil }
            if name.name.isEmpty { return policy.table.zone(ofUnnamedBelow: above) }
            return policy.table.zone(of: name.name, below: above)
        }
        if status.nlink == 0 { return location.last.flatMap(zoneOf) }
        let there = location.names.filter { tree.isNamed($0.name, in: $0.parent, status) }
        guard let first = there.first, var least = zoneOf(first) else { return nil }
        for name in there.dropFirst() {
            guard let other = zoneOf(name) else { return nil }
            if policy.table[other].rights.isStrictSubset(of: policy.table[least].rights) { least = other }
        }
        return least
    }

    /// Of a name in a directory that was loaded through any mount of the tree.
    func zone(of name: UnsafePointer<CChar>, in directory: ObjectState) -> ZoneID? {
        guard let view else { return .top }
        let policy = view.policy
        let above = zone(ofDirectory: directory.descriptor, directory.status, policy)
        return above.map { policy.table.zone(of: name.bytes, below: $0) }
    }

    private func note(_ zone: ZoneID?, _ policy: CompiledPolicy, of node: Node) {
        guard let view else { return }
        let now = SystemTime.monotonic()
        let cachedZone = NodeLocation.CachedZone(
            policy: policy, moves: share.moves.load(ordering: .sequentiallyConsistent),
            expiry: view.lifetime == .max ? .max : now + view.lifetime, zone: zone)
        view.locations.withLock { $0[node.id, default: NodeLocation()].cachedZone = cachedZone }
        // It may have been forgotten meanwhile.
        if nodes.find(node.id) == nil { view.forget(node.id) }
    }

    /// The node by which an object is shown under a name; counts one look-up. A file has a node for each zone in which it
    /// has a name: what may be done with it under one says nothing about another.
    func enter(_ child: ObjectState, named name: UnsafePointer<CChar>?, below parent: ObjectState) -> Node {
        let node = chosenNode(of: child, named: name, below: parent)
        if node.object.mayHoldDescriptor { note(name, below: parent, of: node, child.descriptor) }
        return node
    }

    private func chosenNode(of child: ObjectState, named name: UnsafePointer<CChar>?, below parent: ObjectState) -> Node {
        guard let view, let policy = child.location.policy else { return nodes.enter(child.object) }
        guard child.facts.kind != .directory else {
            let node = nodes.enter(child.object)
            note(child.location.zone, policy, of: node)
            return node
        }
        return view.choosing.withLock { _ in
            let known = nodes.all(of: child.object).first { node in
                let there = location(of: node, child.descriptor, child.status)
                return there.policy === policy && there.zone == child.location.zone && nodes.countLookup(of: node)
            }
            let node = known ?? nodes.enterAnother(child.object)
            let location = NodeLocation.Name(parent: parent.object, name: name.map { Array($0.bytes) } ?? [])
            view.locations.withLock { locations in
                if name == nil {
                    locations[node.id, default: NodeLocation()].last = location
                } else {
                    locations[node.id, default: NodeLocation()].add(location)
                }
            }
            note(child.location.zone, policy, of: node)
            return node
        }
    }
}

extension ObjectLoader {
    /// What had no name, or has this zone already, stands under its new one as well.
    func giveName(_ name: UnsafePointer<CChar>, in directory: ObjectState, to node: Node) {
        guard let view, let policy = directory.location.policy else { return }
        let zone = directory.location.below(name).zone
        view.locations.withLock { locations in
            var location = locations[node.id] ?? NodeLocation()
            let isHere = location.cachedZone.map { $0.policy === policy && $0.zone == zone } ?? false
            guard location.names.isEmpty || isHere else { return }
            location.add(NodeLocation.Name(parent: directory.object, name: Array(name.bytes)))
            location.cachedZone = nil
            locations[node.id] = location
        }
    }
}

// Where handles cannot be opened, as in an ordinary user's daemon, an object is found again by the name that it was shown
// by last (`WayBack.swift`): what the kernel is shown, moves and removes is noted here.

extension ObjectLoader {
    /// - Parameter name: nil for an object that has none yet.
    func note(_ name: UnsafePointer<CChar>?, below directory: ObjectState, of node: Node, _ descriptor: SharedDescriptor) {
        if let name {
            node.object.isNamed(name, in: directory.object)
        } else {
            node.object.hasNoName(descriptor)
        }
    }
}
