import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An object as one operation sees it: descriptor, status and facts that were read together.
struct ObjectState {
    let object: BackingObject
    let descriptor: SharedDescriptor
    let status: FileStatus
    let facts: ObjectFacts
    /// Where a confined mount judges it.
    let location: EffectiveLocation
    /// The node, if the request named it.
    var node: Node?
    /// `WatchedObjects.marks` before names in this directory were looked up.
    var watchesAtLookup: UInt64 = 0
    /// The status of a directory was kept (`ObjectLoader.loadParent`): its times, link count and size may be older than the names in it.
    var isKept = false
    /// Of a directory: when its status was about to be read, in monotonic nanoseconds.
    var readAt: UInt64 = 0
    /// Of a file that was just created: a descriptor for reading and writing.
    var opened: SharedDescriptor?

    /// Something is mounted on this directory. No name in it can be created, found or listed.
    var isOvermounted: Bool { object.isOvermounted.load(ordering: .relaxed) }
}
