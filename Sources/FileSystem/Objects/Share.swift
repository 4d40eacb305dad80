import LinuxSystem
import Synchronization

/// What all mounts of one backing tree share in this daemon (docs/internals/architecture.md "Locks", invariant I5).
///
/// Lock order: a file's exclusion (`WritableFile.swift`), `lock`, a view's `choosing`, then the locks of tables and caches.
final class Share: Sendable {
    let lock = ReadWriteLock()
    let handleQuota = HandleQuota()
    let cookieRoom = CookieRoom()
    let writableFiles = WritableFiles()
    let dataPaths = DataPathTable()
    let held: HeldFiles
    let watched = WatchedObjects()
    let followed = FollowedObjects()
    let exclusions = KnownExclusions()
    let acts = ActNotes()
    private let isShared = Atomic<Bool>(false)
    /// How many directories have moved or were removed. A zone that was found before such a move is stale.
    let moves = Atomic<UInt64>(0)

    /// - Parameter report: writes a line for the administrator.
    init(report: @escaping @Sendable (String) -> Void = { _ in }) { held = HeldFiles(report: report) }

    /// Whether names may change through another mount. The kernel's locks on one mount do not prevent that.
    var hasSeveralMounts: Bool { isShared.load(ordering: .sequentiallyConsistent) }

    /// Call it with the lock held for writing.
    func setSeveralMounts(_ areThere: Bool) { isShared.store(areThere, ordering: .sequentiallyConsistent) }

    /// Keeps names from changing between a decision and its act. On a single mount the kernel's lock on the directory does that, so
    /// other operations may run.
    func withNamesHeld<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        // A spare thread releases the lock around the act, and takes it again for writing.
        if !hasSeveralMounts, !ThreadMark.isSet {
            // The value cannot change while the lock is held.
            let value: Value? = try lock.withReadLock { () throws(Errno) in hasSeveralMounts ? nil : try body() }
            if let value { return value }
        }
        return try lock.withWriteLock(body)
    }
}
