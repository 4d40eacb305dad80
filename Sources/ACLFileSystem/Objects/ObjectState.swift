import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An object as one operation sees it: descriptor, status and facts read together.
struct ObjectState {
    let object: BackingObject
    let descriptor: SharedDescriptor
    let status: FileStatus
    let facts: ObjectFacts
    /// What its place lets pass.
    let location: EffectiveLocation
    /// If it was asked for by its node.
    var node: Node?
    /// Of a file that was just created: for reading and writing.
    var opened: SharedDescriptor?

    /// Nothing can be made, found or listed in a directory that something else is mounted on.
    var isOvermounted: Bool { object.isOvermounted.load(ordering: .relaxed) }
}
