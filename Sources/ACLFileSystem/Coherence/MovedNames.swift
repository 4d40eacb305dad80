import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Names move and go, through whichever mount: what all mounts of the tree know of them follows.

extension TreeMounts {
    /// A name has moved, through whichever mount: confined mounts judge by the new one from now on. With the lock held for
    /// writing.
    func hasMoved(
        _ object: ObjectState, from source: ObjectState, _ name: UnsafePointer<CChar>, to destination: ObjectState,
        _ newName: UnsafePointer<CChar>, through kernel: KernelView
    ) {
        noteMove(of: object, to: newName, in: destination)
        guard object.facts.kind != .directory else {
            share.moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            for mount in confined where mount !== kernel {
                mount.hasMovedElsewhere(from: source, name, to: destination, newName)
            }
            return
        }
        forEachPlace(of: object, named: name, in: source) { location, index in
            let new = NodeLocation.Name(parent: destination.object, name: Array(newName.bytes))
            location.names[index] = new
            location.last = new
            location.cachedZone = nil
        }
    }

    /// A name has gone.
    func hasRemoved(_ object: ObjectState, _ name: UnsafePointer<CChar>, from directory: ObjectState) {
        noteRemoval(of: object)
        if object.status.isRegular, object.status.nlink <= 1 {
            share.dataPaths.noteRemoval(of: object.object.key)
            dropBackingIDs(of: object.object)
        }
        guard object.facts.kind != .directory else {
            share.moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            return
        }
        // What was found out stays: it says what a file is that has lost its last name.
        forEachPlace(of: object, named: name, in: directory) { location, index in location.names.remove(at: index) }
    }

    private func forEachPlace(
        of object: ObjectState, named name: UnsafePointer<CChar>, in directory: ObjectState, _ body: (inout NodeLocation, Int) -> Void
    ) {
        let confined = confined
        guard !confined.isEmpty else { return }
        let name = Array(name.bytes)
        for mount in confined {
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

    private func noteMove(of object: ObjectState, to newName: UnsafePointer<CChar>, in directory: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        object.object.rememberName(newName, in: directory.object)
        forEach { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.rememberName(newName, in: directory.object) }
        }
    }

    /// Who has it open goes on using it; it may have other names, of which nothing is known.
    private func noteRemoval(of object: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        forEach { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.keepOpenWithoutName(object.descriptor) }
        }
    }
}
