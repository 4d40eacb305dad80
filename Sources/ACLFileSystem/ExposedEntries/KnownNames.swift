import BackingStore
import LinuxSystem

// Where handles cannot be opened, as in an ordinary user's daemon, an object is found again by the name that it was shown
// by last (`Reopening.swift`): what the kernel is shown, moves and removes is noted here.

extension FileSystem {
    /// - Parameter name: nil for an object that has none yet.
    func note(_ name: UnsafePointer<CChar>?, below directory: ObjectState, of node: Node, _ descriptor: SharedDescriptor) {
        if let name {
            node.object.rememberName(name, in: directory.object)
        } else {
            node.object.keepOpenWithoutName(descriptor)
        }
    }
}

extension Share {
    func noteMove(of object: ObjectState, to newName: UnsafePointer<CChar>, in directory: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        object.object.rememberName(newName, in: directory.object)
        forEachMount { mount in
            for node in mount.nodes.all(of: object.object) { node.object.rememberName(newName, in: directory.object) }
        }
    }

    /// Who has it open goes on using it; it may have other names, of which nothing is known.
    func noteRemoval(of object: ObjectState) {
        guard object.object.mayHoldDescriptor else { return }
        forEachMount { mount in
            for node in mount.nodes.all(of: object.object) { node.object.keepOpenWithoutName(object.descriptor) }
        }
    }
}
