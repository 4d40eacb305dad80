import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Names move and are removed, through any mount of the tree. The records of all its mounts follow.

extension TreeMounts {
    /// Records that a name has moved: confined mounts judge by the new one from now on. The caller holds the metadata lock for writing.
    /// - Parameter kernel: of the mount through which the name moved.
    func recordMove(
        of object: ObjectState, from source: ObjectState, _ name: UnsafePointer<CChar>, to destination: ObjectState,
        _ newName: UnsafePointer<CChar>, through kernel: KernelView
    ) {
        setName(of: object, to: newName, in: destination)
        share.exclusions.noteMove(of: object.object.key, isDirectory: object.facts.kind == .directory)
        let mayFollow = share.followed.noteMove(of: object.object, to: destination.object, newName)
        defer { if mayFollow { for mount in confined { mount.invalidateIfGrantsMoved() } } }
        guard object.facts.kind != .directory else {
            share.moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            for mount in confined where mount !== kernel {
                mount.invalidateIfZoneChanges(from: source, name, to: destination, newName)
            }
            return
        }
        updatePlaces(of: object, named: name, in: source) { location, index in
            let new = NodeLocation.Name(parent: destination.object, name: Array(newName.bytes))
            location.names[index] = new
            location.last = new
            location.cachedZone = nil
        }
    }

    /// Records that a name was removed. The caller holds the metadata lock.
    func recordRemoval(of object: ObjectState, _ name: UnsafePointer<CChar>, from directory: ObjectState) {
        clearName(of: object)
        if object.status.nlink <= 1 || object.facts.kind == .directory {
            if object.status.isRegular {
                share.dataPaths.noteRemoval(of: object.object.key)
                dropBackingIDs(of: object.object)
            }
            forgetRemoved(object.object)
        }
        if share.followed.noteRemoval(of: object.object) { for mount in confined { mount.invalidateIfGrantsMoved() } }
        guard object.facts.kind != .directory else {
            share.moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            return
        }
        // The location stays known: a file that has lost its last name is judged by it.
        updatePlaces(of: object, named: name, in: directory) { location, index in location.names.remove(at: index) }
    }

    private func updatePlaces(
        of object: ObjectState, named name: UnsafePointer<CChar>, in directory: ObjectState, _ body: (inout NodeLocation, Int) -> Void
    ) {
        let views = confined
        guard !views.isEmpty else { return }
        let name = Array(name.bytes)
        for mount in views {
            guard let view = mount.loader.view else { continue }
            for node in mount.loader.nodes.all(of: object.object) {
                view.locations.withLock { locations in
                    guard var location = locations[node.id],
                        let index = location.names.firstIndex(where: { $0.isThis(name, in: directory.object) })
                    else { return }
                    body(&location, index)
                    locations[node.id] = location
                }
            }
        }
    }

    /// A kernel that knows the object may be about to send a request about it: of a caller who found the name just before, as in an open
    /// during a rename onto it. Then its descriptor is closed by the FORGET, and otherwise at once.
    private func forgetRemoved(_ object: BackingObject) {
        var isKnown = false
        forEach { mount in
            mount.loader.forEachNode(of: object) { node in
                node.object.hasLostNames.store(true, ordering: .relaxed)
                isKnown = true
            }
        }
        // Several mounts may have one tree.
        if !isKnown { forEach { $0.loader.tree.forgetDescriptor(of: object) } }
    }

    private func setName(of object: ObjectState, to newName: UnsafePointer<CChar>, in directory: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        object.object.rememberName(newName, in: directory.object)
        forEach { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.rememberName(newName, in: directory.object) }
        }
    }

    /// A process may still have the object open, and the object may have names that are not known.
    private func clearName(of object: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        forEach { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.keepOpenWithoutName(object.descriptor) }
        }
    }
}
