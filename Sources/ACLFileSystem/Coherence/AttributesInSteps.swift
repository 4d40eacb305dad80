import Authorization
import FuseSession
import LinuxSystem
import Synchronization

// The kernel takes attributes from an answer in several steps, and whoever looks at them meanwhile takes no lock
// (docs/coherence.md "Attributes in steps"):
// - It says that they are good before it stores until when. If somebody may not see them any more, then for that moment the old
//   time, which is not over, lets everybody see them.
// - It stores the sticky bit before it takes it out again, since it must not obey it: for that moment it does, and refuses with
//   EPERM what we may have granted.
// So it must not take them at all. It drops what an answer brings if attributes were taken back after the question was
// sent; the caller gets them all the same.

extension KernelView {
    /// Before attributes are answered: sees to it that the kernel does not take them where its steps would show. With the metadata
    /// lock, so that it is known whether they have a time when a change has come behind the decision.
    /// - Parameters:
    ///   - seconds: that they are good for.
    ///   - isForAll: everybody may see them.
    func prepareAnswer(_ object: ObjectState, of node: Node, timeout: Double, isForEverybody: Bool) {
        if isStickyDirectory(object) || !isForEverybody && knowsAllChanges && node.attributeTime.isLeft(at: SystemTime.monotonic()) {
            cache.invalidateAttributes(of: node.id)
        }
        if timeout > 0 { node.attributeTime.give(seconds: timeout, at: SystemTime.monotonic()) }
    }

    /// Whether the kernel can do without the sizes, link counts and times in an answer, since all that changes them comes through it.
    private var knowsAllChanges: Bool { !share.hasSeveralMounts }

    func isStickyDirectory(_ object: ObjectState) -> Bool {
        object.facts.kind == .directory && object.facts.mode.contains(.sticky)
    }
}
