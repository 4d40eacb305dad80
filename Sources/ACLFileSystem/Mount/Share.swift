import BackingStore
import LinuxSystem
import Synchronization

/// What all mounts of one backing tree have in common in this daemon: the lock that holds facts and names still
/// between a decision and its act, and the knowledge of one another (docs/coherence.md R14).
///
/// While there is more than one, a change through one is told to all others before its reply (`OtherMounts.swift`), and
/// no listing hands out objects: it alone takes effect at a moment that only a lock of that kernel's could tell.
public final class Share: Sendable {
    let lock = ReadWriteLock()
    let handleQuota = HandleQuota()
    let growing = GrowingFiles()
    let dataPaths = DataPathTable()
    let held: HeldFiles
    private let mounts = Lock<[FileSystem]>([])
    private let isShared = Atomic<Bool>(false)
    private let joining = Lock(())
    /// How many directories have moved, with all that is below them, or gone: what was found out about places before is
    /// out of date.
    let moves = Atomic<UInt64>(0)

    /// - Parameter report: writes a line for the administrator.
    public init(report: @escaping @Sendable (String) -> Void = { _ in }) { held = HeldFiles(report: report) }

    /// Whether a name may mean something else through another mount, which the kernel's locks on one do not prevent.
    var hasSeveralMounts: Bool { isShared.load(ordering: .sequentiallyConsistent) }

    /// Before a mount answers its first request: what the others' kernels keep is taken back first.
    /// Never from a thread that answers requests.
    /// - Throws: `timedout` if somebody keeps a listing from being used; then the mount must not be served.
    func join(_ fileSystem: FileSystem) throws(Errno) {
        // One after the other: whoever comes second relies on what the first has taken back.
        try joining.withLock { _ throws(Errno) in try joinNext(fileSystem) }
    }

    private func joinNext(_ fileSystem: FileSystem) throws(Errno) {
        let all = mounts.withLock { mounts in
            mounts.append(fileSystem)
            return mounts
        }
        // Where there were several, each is told already of what the others change, and no listing hands out objects.
        guard all.count > 1, !hasSeveralMounts else { return }
        lock.withWriteLock { isShared.store(true, ordering: .sequentiallyConsistent) }
        do throws(Errno) {
            for mount in all { try mount.kernel.stopCaching() }
        } catch {
            leave(fileSystem)
            // What was not taken back is still known.
            for mount in all where mount !== fileSystem { mount.kernel.cache.resume(.severalMounts) }
            throw error
        }
        // From here on each is told what the others change.
        for mount in all { mount.kernel.cache.resume(.severalMounts) }
    }

    func leave(_ fileSystem: FileSystem) {
        mounts.withLock { $0.removeAll { $0 === fileSystem } }
        let left = lock.withWriteLock { () -> [FileSystem] in
            // One may have come meanwhile, and relies on it.
            let left = mounts.withLock { $0 }
            guard left.count <= 1 else { return left }
            isShared.store(false, ordering: .sequentiallyConsistent)
            // What changed through the one that goes is still to be taken (AttributesInSteps.swift).
            let now = SystemTime.monotonic()
            for mount in left { for node in mount.loader.nodes.all { node.attributeTime.forget(at: now) } }
            return left
        }
        guard left.count <= 1 else { return }
        for mount in left { mount.kernel.cache.resume(.severalMounts) }
    }

    /// Whether the kernels of all mounts can reach backing files by themselves.
    func everyMountPasses(_ own: BackingIDs) -> Bool {
        guard hasSeveralMounts else { return own.areUsable }
        return mounts.withLock { $0 }.allSatisfy { $0.data.backingIDs.areUsable }
    }

    func forEachMount(_ body: (FileSystem) -> Void) {
        for mount in mounts.withLock({ $0 }) { body(mount) }
    }

    func forEachOther(than kernel: KernelView, _ body: (KernelView) -> Void) {
        guard hasSeveralMounts else { return }
        for mount in mounts.withLock({ $0 }) where mount.kernel !== kernel { body(mount.kernel) }
    }

    /// Bytes of a file have changed through one mount. The others' kernels may hold pages of it; they are dropped, but
    /// not before the reply, because that waits for reads which may wait for us.
    func contentChanged(_ object: BackingObject, through kernel: KernelView) {
        forEachOther(than: kernel) { other in
            other.loader.forEachNode(of: object) { other.notices.dropContent(of: $0.id) }
        }
        for node in kernel.loader.nodesIfSeveral(of: object) { kernel.notices.dropContent(of: node.id) }
        kernel.tellOthers(of: object)
    }

    /// Whether a view of this mount has a file open for writing.
    func writesThroughView(of fileSystem: FileSystem) -> Bool {
        mounts.withLock { $0 }.contains { $0.base === fileSystem && $0.handles.hasWritableFile }
    }

    /// The mounts that must be told where names go.
    var confinedMounts: [KernelView] { mounts.withLock { $0.compactMap { $0.loader.view == nil ? nil : $0.kernel } } }

    /// Holds names still from a decision to its act. On a single mount the kernel's lock on the directory does that,
    /// and many may go on at once.
    func withNamesHeld<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        // On a spare thread the lock is let go around the act, and taken again for writing.
        if !hasSeveralMounts, !ThreadMark.isSet {
            // With the lock it stays as it is.
            let value: Value? = try lock.withReadLock { () throws(Errno) in hasSeveralMounts ? nil : try body() }
            if let value { return value }
        }
        return try lock.withWriteLock(body)
    }
}
