import BackingStore
import LinuxSystem

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

extension Share {
    func noteMove(of object: ObjectState, to newName: UnsafePointer<CChar>, in directory: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        object.object.isNamed(newName, in: directory.object)
        forEachMount { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.isNamed(newName, in: directory.object) }
        }
    }

    /// Who has it open goes on using it; it may have other names, of which nothing is known.
    func noteRemoval(of object: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        forEachMount { mount in
            for node in mount.loader.nodes.all(of: object.object) { node.object.hasNoName(object.descriptor) }
        }
    }
}
