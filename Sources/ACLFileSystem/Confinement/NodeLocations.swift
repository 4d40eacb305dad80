import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

// Z1 to Z4 (docs/sandbox-zones.md): an object is judged by where it is. A directory's place is asked of the kernel, a
// file's is its name in a directory. What was found out counts until a directory moves or the policy changes, and for
// 50 ms because of changes behind the mount.

extension FileSystem {
    /// Where a node stands now. All under the metadata lock, so that no directory moves meanwhile.
    func location(of node: Node, _ descriptor: SharedDescriptor, _ status: FileStatus) -> EffectiveLocation {
        guard let view else { return .unconfined }
        let policy = view.policy
        if node.id == .root || node.object === tree.root { return EffectiveLocation(.top, policy) }
        let place = view.places.withLock { $0[node.id] } ?? Place()
        if let finding = place.finding, finding.policy === policy {
            if !node.isDirectory, place.names.isEmpty {
                // Nothing has a name any more: it stays what it was when it lost the last.
                if status.nlink == 0 { return EffectiveLocation(finding.zone, policy) }
            } else if finding.moves == share.moves.load(ordering: .sequentiallyConsistent),
                finding.until == .max || SystemTime.monotonic() < finding.until
            {
                return EffectiveLocation(finding.zone, policy)
            }
        }
        let zone =
            node.isDirectory
            ? zone(ofDirectory: descriptor, status, policy) : zone(ofFile: place, status, policy)
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
    private func zone(ofFile place: Place, _ status: FileStatus, _ policy: CompiledPolicy) -> ZoneID? {
        func zoneOf(_ name: Place.Name) -> ZoneID? {
            guard let descriptor = try? tree.descriptor(of: name.parent),
                let parent = try? Syscall.statx(descriptor.rawValue)
            else { return nil }
            guard let above = zone(ofDirectory: descriptor, parent, policy) else { return nil }
            if name.name.isEmpty { return policy.table.zone(ofUnnamedBelow: above) }
            return policy.table.zone(of: name.name, below: above)
        }
        if status.nlink == 0 { return place.last.flatMap(zoneOf) }
        var there: [Place.Name] = []
        for name in place.names {
            // A name that cannot be looked at might be the one that lets least pass.
            do throws(Errno) { if try tree.isNamed(name.name, in: name.parent, status) { there.append(name) } } catch { return nil }
        }
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
        let finding = Place.Finding(
            policy: policy, moves: share.moves.load(ordering: .sequentiallyConsistent),
            until: view.trust == .max ? .max : now + view.trust, zone: zone)
        view.places.withLock { $0[node.id, default: Place()].finding = finding }
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
                return there.policy === policy && there.zone == child.location.zone && nodes.enter(node)
            }
            let node = known ?? nodes.enterAnother(child.object)
            let place = Place.Name(parent: parent.object, name: name.map { Array($0.bytes) } ?? [])
            view.places.withLock { places in
                if name == nil {
                    places[node.id, default: Place()].last = place
                } else {
                    places[node.id, default: Place()].add(place)
                }
            }
            note(child.location.zone, policy, of: node)
            return node
        }
    }
}

extension FileSystem {
    /// What had no name, or has this zone already, stands under its new one as well.
    func giveName(_ name: UnsafePointer<CChar>, in directory: ObjectState, to node: Node) {
        guard let view, let policy = directory.location.policy else { return }
        let zone = directory.location.below(name).zone
        view.places.withLock { places in
            var place = places[node.id] ?? Place()
            let isHere = place.finding.map { $0.policy === policy && $0.zone == zone } ?? false
            guard place.names.isEmpty || isHere else { return }
            place.add(Place.Name(parent: directory.object, name: Array(name.bytes)))
            place.finding = nil
            places[node.id] = place
        }
    }
}

extension Share {
    /// A name has moved, through whichever mount: confined mounts judge by the new one from now on. With the lock held for
    /// writing.
    func hasMoved(
        _ object: ObjectState, from source: ObjectState, _ name: UnsafePointer<CChar>, to destination: ObjectState,
        _ newName: UnsafePointer<CChar>, through fileSystem: FileSystem
    ) {
        noteMove(of: object, to: newName, in: destination)
        guard object.facts.kind != .directory else {
            moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            for mount in confinedMounts where mount !== fileSystem {
                mount.hasMovedElsewhere(from: source, name, to: destination, newName)
            }
            return
        }
        forEachPlace(of: object, named: name, in: source) { place, index in
            let new = Place.Name(parent: destination.object, name: Array(newName.bytes))
            place.names[index] = new
            place.last = new
            place.finding = nil
        }
    }

    /// A name has gone.
    func hasRemoved(_ object: ObjectState, _ name: UnsafePointer<CChar>, from directory: ObjectState) {
        noteRemoval(of: object)
        if object.status.isRegular, object.status.nlink <= 1 {
            dataPaths.noteRemoval(of: object.object.key)
            forEachMount { $0.backingIDs.drop(object.object.key) }
        }
        guard object.facts.kind != .directory else {
            moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            return
        }
        // What was found out stays: it says what a file is that has lost its last name.
        forEachPlace(of: object, named: name, in: directory) { place, index in place.names.remove(at: index) }
    }

    private func forEachPlace(
        of object: ObjectState, named name: UnsafePointer<CChar>, in directory: ObjectState, _ body: (inout Place, Int) -> Void
    ) {
        let confined = confinedMounts
        guard !confined.isEmpty else { return }
        let name = Array(name.bytes)
        for mount in confined {
            guard let view = mount.view else { continue }
            for node in mount.nodes.all(of: object.object) {
                view.places.withLock { places in
                    guard var place = places[node.id],
                        let index = place.names.firstIndex(where: { $0.isThis(name, in: directory.object) })
                    else { return }
                    body(&place, index)
                    places[node.id] = place
                }
            }
        }
    }
}
