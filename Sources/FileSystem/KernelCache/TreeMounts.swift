import BackingStore
import LinuxSystem
import Synchronization

/// The mounts of one backing tree that this daemon serves (docs/internals/coherence.md R14).
///
/// While there are several, a change through one invalidates the others' caches before its reply (`OtherMounts.swift`), and no listing
/// exposes objects: only a lock in that kernel tells when a listing takes effect.
public final class TreeMounts: Sendable {
    private struct Member: Sendable {
        let kernel: KernelView
        let backingIDs: BackingIDs
        /// Of a confined mount: the mount whose volume it shows.
        let base: KernelView?
    }

    let share: Share
    /// The objects that grants follow.
    public var followed: FollowedObjects { share.followed }
    private let members = Lock<[Member]>([])
    private let joining = Lock(())
    private let watching = Lock(Watching())
    private struct Watching {
        var watch: ChangeWatch?
    }

    /// - Parameter report: writes a line for the administrator.
    public init(report: @escaping @Sendable (String) -> Void = { _ in }) { share = Share(report: report) }

    /// Adds a mount, after the others' caches are invalidated. Call before it answers its first request, and never on a thread that
    /// answers requests.
    /// - Throws: `timedout` if a caller keeps a listing from being used. The mount must not be served then.
    func join(_ kernel: KernelView, _ backingIDs: BackingIDs, base: KernelView?) throws(Errno) {
        // One at a time: the next relies on what this one has invalidated.
        try joining.withLock { _ throws(Errno) in
            try joinLocked(Member(kernel: kernel, backingIDs: backingIDs, base: base))
        }
    }

    private func joinLocked(_ member: Member) throws(Errno) {
        let all = members.withLock { members in
            members.append(member)
            return members
        }
        // With several mounts before, each learns already what the others change, and no listing exposes objects.
        guard all.count > 1, !share.hasSeveralMounts else { return }
        share.lock.withWriteLock { share.setSeveralMounts(true) }
        do throws(Errno) {
            for mount in all { try mount.kernel.stopCaching() }
        } catch {
            leave(member.kernel)
            // What was not invalidated is still noted, so caching may go on.
            for mount in all where mount.kernel !== member.kernel { mount.kernel.cache.resume(.severalMounts) }
            throw error
        }
        // From now on each mount learns what the others change.
        for mount in all { mount.kernel.cache.resume(.severalMounts) }
    }

    func leave(_ kernel: KernelView) {
        members.withLock { $0.removeAll { $0.kernel === kernel } }
        let left = share.lock.withWriteLock { () -> [Member] in
            // Another mount may have joined meanwhile and rely on the flag.
            let left = members.withLock { $0 }
            guard left.count <= 1 else { return left }
            share.setSeveralMounts(false)
            // The kernels must still take attributes that changed through the leaving mount (docs/internals/coherence.md "Attributes in steps").
            let now = SystemTime.monotonic()
            for mount in left { for node in mount.kernel.loader.nodes.all { node.exposure.attributeTimeout.invalidate(at: now) } }
            return left
        }
        if left.isEmpty { stopWatching() }
        guard left.count <= 1 else { return }
        for mount in left { mount.kernel.cache.resume(.severalMounts) }
    }

    var count: Int { members.withLock { $0.count } }

    /// Begins to watch for changes elsewhere, for all mounts of the tree. A later call does nothing.
    /// - Throws: `perm`, `nosys` or `inval` where there are no such events.
    func startWatching() throws(Errno) {
        try watching.withLock { state throws(Errno) in
            if state.watch == nil { state.watch = try ChangeWatch(self) }
        }
    }

    private func stopWatching() {
        watching.withLock { state in
            let watch = state.watch
            state.watch = nil
            return watch
        }?.stop()
    }

    /// Whether passthrough works on all mounts of the tree.
    /// - Parameter own: the backing ids of the mount that asks.
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

    /// Releases the backing ids of a file that has lost its last name: they would keep its blocks.
    func dropBackingIDs(of object: BackingObject) {
        for mount in members.withLock({ $0 }) { mount.backingIDs.closeIdle(of: object.key) }
    }

    /// Whether a confined mount of this one has a file open for writing.
    func writesThroughView(of kernel: KernelView) -> Bool {
        members.withLock { $0 }.contains { $0.base === kernel && $0.kernel.files.hasWritableFile }
    }

    /// The confined mounts: they judge by names, so they must learn of renames.
    var confined: [KernelView] { members.withLock { $0.compactMap { $0.kernel.loader.view == nil ? nil : $0.kernel } } }
}
