import Authorization
import FuseSession
import LinuxSystem
import Synchronization

// The kernel stores the attributes of an answer in several steps, and readers take no lock (docs/internals/coherence.md "Attributes in steps"):
// - It marks them as valid before it stores their new timeout. In between, the old timeout applies: if it has not expired, a caller that
//   may no longer see the attributes still gets them.
// - It stores the sticky bit before it removes it again. In between, it obeys the bit and refuses with EPERM what the daemon granted.
// So it must not store such attributes at all. It discards those of an answer if attributes were invalidated after the request was sent;
// the caller gets them all the same.

extension KernelView {
    /// Invalidates attributes before they are answered, if the kernel's steps would show. The caller holds the metadata lock, so that
    /// a change after the decision knows of the timeout.
    /// - Parameters:
    ///   - timeout: of the answer, in seconds.
    ///   - isForEveryCaller: every caller may see the attributes.
    func prepareAnswer(_ object: ObjectState, of node: Node, timeout: Double, isForEveryCaller: Bool) {
        let oldTimeoutApplies =
            !isForEveryCaller && knowsAllChanges(of: node) && node.attributeTimeout.isRunning(at: SystemTime.monotonic())
        if oldTimeoutApplies || isStickyDirectory(object) { cache.invalidateAttributes(of: node.id) }
        if timeout > 0 { node.attributeTimeout.extend(seconds: timeout, at: SystemTime.monotonic()) }
    }

    /// Whether every change of sizes, link counts and times passes through this kernel, so that it can discard those of an answer.
    private func knowsAllChanges(of node: Node) -> Bool {
        !share.hasSeveralMounts || !node.hasChangedElsewhere.load(ordering: .sequentiallyConsistent)
    }

    func isStickyDirectory(_ object: ObjectState) -> Bool {
        object.facts.kind == .directory && object.facts.mode.contains(.sticky)
    }
}
