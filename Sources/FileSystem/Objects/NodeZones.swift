import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

// The zone of a node (docs/reference/sandbox-zones.md Z1 to Z4): that of a directory follows from the path that the kernel reports, that of a file
// from its names in directories. A cached zone counts until a directory moves, the policy changes, or its lifetime (50 ms) ends.

extension ObjectLoader {
    /// The effective location of a node. Call it under the metadata lock, so that no directory moves meanwhile.
    func location(of node: Node, _ descriptor: SharedDescriptor, _ status: FileStatus) -> EffectiveLocation {
        guard let view else { return .unconfined }
        let policy = view.policy
        if node.id == .root || node.object === tree.root { return EffectiveLocation(.top, policy) }
        let known = view.locations.withLock { $0[node.id] } ?? NodeLocation()
        if let cachedZone = known.cachedZone, cachedZone.policy === policy {
            if !node.isDirectory, known.names.isEmpty {
                // A file without a name keeps the zone of its last name.
                if status.nlink == 0 { return EffectiveLocation(cachedZone.zone, policy) }
            } else if cachedZone.moves == share.moves.load(ordering: .sequentiallyConsistent),
                cachedZone.expiry == .max || SystemTime.monotonic() < cachedZone.expiry
            {
                return EffectiveLocation(cachedZone.zone, policy)
            }
        }
        let zone =
            node.isDirectory
            ? zone(ofDirectory: descriptor, status, policy) : zone(ofFile: known, status, policy)
        cacheZone(zone, policy, of: node)
        return EffectiveLocation(zone, policy)
    }

    var locationOfTop: EffectiveLocation { view.map { EffectiveLocation(.top, $0.policy) } ?? .unconfined }

    private func zone(ofDirectory descriptor: SharedDescriptor, _ status: FileStatus, _ policy: CompiledPolicy)
        -> ZoneID?
    {
        tree.names(to: descriptor, status)?.reduce(ZoneID.top) { policy.table.zone(of: $1, below: $0) }
    }

    /// Uses all names that the file still has. If their zones differ, the one with the fewest rights counts.
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
        var there: [NodeLocation.Name] = []
        for name in location.names {
            // A name that cannot be looked at might be the one with the fewest rights.
            do throws(Errno) { if try tree.isNamed(name.name, in: name.parent, status) { there.append(name) } } catch { return nil }
        }
        guard let first = there.first, var least = zoneOf(first) else { return nil }
        for name in there.dropFirst() {
            guard let other = zoneOf(name) else { return nil }
            if policy.table[other].rights.isStrictSubset(of: policy.table[least].rights) { least = other }
        }
        return least
    }

    /// The zone of a name, in a directory that was loaded through any mount of the tree.
    func zone(of name: UnsafePointer<CChar>, in directory: ObjectState) -> ZoneID? {
        guard let view else { return .top }
        let policy = view.policy
        let above = zone(ofDirectory: directory.descriptor, directory.status, policy)
        return above.map { policy.table.zone(of: name.bytes, below: $0) }
    }

    private func cacheZone(_ zone: ZoneID?, _ policy: CompiledPolicy, of node: Node) {
        guard let view else { return }
        let now = SystemTime.monotonic()
        let cachedZone = NodeLocation.CachedZone(
            policy: policy, moves: share.moves.load(ordering: .sequentiallyConsistent),
            expiry: view.lifetime == .max ? .max : now + view.lifetime, zone: zone)
        view.locations.withLock { $0[node.id, default: NodeLocation()].cachedZone = cachedZone }
        // The kernel may have forgotten the node meanwhile.
        if nodes.find(node.id) == nil { view.forget(node.id) }
    }

    /// Returns the node for an object under a name, and counts one look-up. A file has one node for each zone in which it has a
    /// name, because each zone leaves other rights.
    func enter(_ child: ObjectState, named name: UnsafePointer<CChar>?, below parent: ObjectState) -> Node {
        let node = chosenNode(of: child, named: name, below: parent)
        if node.object.mayHoldDescriptor { noteName(name, below: parent, of: node, child.descriptor) }
        return node
    }

    private func chosenNode(of child: ObjectState, named name: UnsafePointer<CChar>?, below parent: ObjectState) -> Node {
        guard let view, let policy = child.location.policy else { return nodes.enter(child.object) }
        guard child.facts.kind != .directory else {
            let node = nodes.enter(child.object)
            cacheZone(child.location.zone, policy, of: node)
            return node
        }
        return view.choosing.withLock { _ in
            let known = nodes.all(of: child.object).first { node in
                let there = location(of: node, child.descriptor, child.status)
                return there.policy === policy && there.zone == child.location.zone && nodes.countLookup(of: node)
            }
            let node = known ?? nodes.enterAnother(child.object)
            let newName = NodeLocation.Name(parent: parent.object, name: name.map { Array($0.bytes) } ?? [])
            view.locations.withLock { locations in
                if name == nil {
                    locations[node.id, default: NodeLocation()].last = newName
                } else {
                    locations[node.id, default: NodeLocation()].add(newName)
                }
            }
            cacheZone(child.location.zone, policy, of: node)
            return node
        }
    }
}

extension ObjectLoader {
    /// Adds a new name to a node that had no name, or that is in the zone of the new name.
    func giveName(_ name: UnsafePointer<CChar>, in directory: ObjectState, to node: Node) {
        guard let view, let policy = directory.location.policy else { return }
        let zone = directory.location.below(name).zone
        view.locations.withLock { locations in
            var known = locations[node.id] ?? NodeLocation()
            let isHere = known.cachedZone.map { $0.policy === policy && $0.zone == zone } ?? false
            guard known.names.isEmpty || isHere else { return }
            known.add(NodeLocation.Name(parent: directory.object, name: Array(name.bytes)))
            known.cachedZone = nil
            locations[node.id] = known
        }
    }
}

// An ordinary user's daemon cannot open file handles. It finds an object by its last exposed name (`Reopening.swift`), so names that
// are exposed, moved and removed are noted here.

extension ObjectLoader {
    /// - Parameter name: nil for an object without a name.
    func noteName(_ name: UnsafePointer<CChar>?, below directory: ObjectState, of node: Node, _ descriptor: SharedDescriptor) {
        if let name {
            node.object.rememberName(name, in: directory.object)
        } else {
            node.object.keepOpenWithoutName(descriptor)
        }
    }
}
