import LinuxSystem
import Synchronization

/// What all mounts of one backing tree have in common in this daemon: the lock that holds facts and names still between a decision
/// and its act, and what is known of the tree's files.
///
/// Lock order: a file's growth (`ZeroFillGrowth.swift`), `lock`, a view's `choosing`, then the mutexes of tables and caches; never the
/// other way round. The lock is held for reading from the decision to the act, and for writing by what changes what decisions read
/// (mode, owner, flags, list), so that the state that was judged is the state that is acted on (invariant I5). Names are held still by the
/// kernel's own directory locks.
final class Share: Sendable {
    let lock = ReadWriteLock()
    let handleQuota = HandleQuota()
    let writableFiles = WritableFiles()
    let dataPaths = DataPathTable()
    let held: HeldFiles
    private let isShared = Atomic<Bool>(false)
    /// How many directories have moved, with all that is below them, or gone: what was found out about places before is
    /// out of date.
    let moves = Atomic<UInt64>(0)

    /// - Parameter report: writes a line for the administrator.
    init(report: @escaping @Sendable (String) -> Void = { _ in }) { held = HeldFiles(report: report) }

    /// Whether a name may mean something else through another mount, which the kernel's locks on one do not prevent.
    var hasSeveralMounts: Bool { isShared.load(ordering: .sequentiallyConsistent) }

    /// With the lock held for writing.
    func setSeveralMounts(_ areThere: Bool) { isShared.store(areThere, ordering: .sequentiallyConsistent) }

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
