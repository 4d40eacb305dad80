import BackingStore
import LinuxSystem
import Synchronization

/// The mounts of one backing tree that this daemon serves, and what they know of one another (docs/coherence.md R14).
///
/// While there is more than one, a change through one is told to all others before its reply (`OtherMounts.swift`), and
/// no listing hands out objects: it alone takes effect at a moment that only a lock of that kernel's could tell.
public final class TreeMounts: Sendable {
    private struct Member: Sendable {
        let kernel: KernelView
        let backingIDs: BackingIDs
        /// Of a view: the mount whose volume it shows.
        let base: KernelView?
    }

    let share: Share
    private let members = Lock<[Member]>([])
    private let joining = Lock(())

    /// - Parameter report: writes a line for the administrator.
    public init(report: @escaping @Sendable (String) -> Void = { _ in }) { share = Share(report: report) }

    /// Before a mount answers its first request: what the others' kernels keep is invalidated first.
    /// Never from a thread that answers requests.
    /// - Throws: `timedout` if a caller keeps a listing from being used; then the mount must not be served.
    func join(_ kernel: KernelView, _ backingIDs: BackingIDs, base: KernelView?) throws(Errno) {
        // One after the other: the second relies on what the first has invalidated.
        try joining.withLock { _ throws(Errno) in
            try joinLocked(Member(kernel: kernel, backingIDs: backingIDs, base: base))
        }
    }

    private func joinLocked(_ member: Member) throws(Errno) {
        let all = members.withLock { members in
            members.append(member)
            return members
        }
        // Where there were several, each is told already of what the others change, and no listing hands out objects.
        guard all.count > 1, !share.hasSeveralMounts else { return }
        share.lock.withWriteLock { share.setSeveralMounts(true) }
        do throws(Errno) {
            for mount in all { try mount.kernel.stopCaching() }
        } catch {
            leave(member.kernel)
            // What was not invalidated is still known.
            for mount in all where mount.kernel !== member.kernel { mount.kernel.cache.resume(.severalMounts) }
            throw error
        }
        // From here on each is told what the others change.
        for mount in all { mount.kernel.cache.resume(.severalMounts) }
    }

    func leave(_ kernel: KernelView) {
        members.withLock { $0.removeAll { $0.kernel === kernel } }
        let left = share.lock.withWriteLock { () -> [Member] in
            // One may have come meanwhile, and relies on it.
            let left = members.withLock { $0 }
            guard left.count <= 1 else { return left }
            share.setSeveralMounts(false)
            // What changed through the one that goes is still to be taken (AttributesInSteps.swift).
            let now = SystemTime.monotonic()
            for mount in left { for node in mount.kernel.loader.nodes.all { node.attributeTime.forget(at: now) } }
            return left
        }
        guard left.count <= 1 else { return }
        for mount in left { mount.kernel.cache.resume(.severalMounts) }
    }

    /// Whether the kernels of all mounts can reach backing files by themselves.
    /// - Parameter own: of the mount that asks.
    func everyMountHasPassthrough(_ own: BackingIDs) -> Bool {
        guard share.hasSeveralMounts else { return own.areUsable }
        return members.withLock { $0 }.allSatisfy { $0.backingIDs.areUsable }
    }

    func forEach(_ body: (KernelView) -> Void) {
        for mount in members.withLock({ $0 }) { body(mount.kernel) }
    }

    func forEachOther(than kernel: KernelView, _ body: (KernelView) -> Void) {
        guard share.hasSeveralMounts else { return }
        for mount in members.withLock({ $0 }) where mount.kernel !== kernel { body(mount.kernel) }
    }

    /// A file has lost its last name: no backing id may hold it.
    func dropBackingIDs(of object: BackingObject) {
        for mount in members.withLock({ $0 }) { mount.backingIDs.drop(object.key) }
    }

    /// Whether a view of this mount has a file open for writing.
    func writesThroughView(of kernel: KernelView) -> Bool {
        members.withLock { $0 }.contains { $0.base === kernel && $0.kernel.handles.hasWritableFile }
    }

    /// The mounts that must be told where names go.
    var confined: [KernelView] { members.withLock { $0.compactMap { $0.kernel.loader.view == nil ? nil : $0.kernel } } }
}
