import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// Keeps st_mtime as the program set it, although the fill writes to the file (docs/internals/zerofill.md "What else can be seen"). Without a
/// writer each piece restores the time at once. After a close the RELEASE restores it, if that close was the only one. st_ctime cannot be
/// set: what the fill moves after close(2) has returned is not shown.
final class FillTimes: Sendable {
    private struct Moved {
        /// The time that the program set.
        let own: Timespec
        /// The change time that is shown while a piece without a writer runs.
        let shownChange: Timespec
        /// The time after the last piece of a close; nil while a piece runs. Any other time comes from a write.
        var afterPiece: Timespec?
        /// No handle can write.
        var hasNoWriter = false
        /// When the close ended, in monotonic nanoseconds; 0: not yet.
        var closedAt: UInt64 = 0
        /// No RELEASE came in time, so another process has the handle.
        var hasTimedOut = false

        /// Whether a RELEASE may follow the close.
        var isReleaseInFlight: Bool { closedAt > 0 && !hasTimedOut && SystemTime.monotonic() - closedAt < FillTimes.longestRelease }
        /// Whether stat(2) shows the program's time. After a close another program's write may have moved the time. But a time that
        /// may still be restored is not shown, so that the shown time never goes back.
        var isHidden: Bool { hasNoWriter || closedAt == 0 || isReleaseInFlight }
    }

    private let moved = Lock<[ObjectKey: Moved]>([:])
    private let shownChanges = Lock(ShownChangeTimes())
    /// Whether `shownChanges` has any.
    private let hasShownChanges = Atomic<Bool>(false)
    /// The number of files in `moved`.
    private let count = Atomic<Int>(0)
    private let begun = Atomic<UInt64>(0)
    private let ended = Atomic<UInt64>(0)
    /// When the last piece ended, in monotonic nanoseconds; 0: none yet.
    private let lastEnd = Atomic<UInt64>(0)
    /// Nanoseconds from the last close until its RELEASE must have arrived.
    private static let longestRelease: UInt64 = 50_000_000
    /// The most requests that wait for a RELEASE at a time.
    private static let mostWaiting = 8
    private let waiters = Atomic<Int>(0)

    /// Whether the time of any file may still be restored.
    var areAnyMoved: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    private func change(_ key: ObjectKey, _ body: (inout Moved?) -> Void) {
        moved.withLock { moved in
            body(&moved[key])
            count.store(moved.count, ordering: .sequentiallyConsistent)
        }
    }

    /// Runs a piece and keeps the file's modification time. Call it under the file's exclusion.
    /// - Parameters:
    ///   - status: of the file, read before the piece.
    ///   - isClose: a handle can write, so that restoring at once could undo the time of a write.
    func preserve<Value>(
        of key: ObjectKey, _ status: FileStatus, _ descriptor: Int32, isClose: Bool,
        during piece: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        var own = status.mtime
        let shownChange = shown(key, status.ctime)
        change(key) { moved in
            if let moved, moved.afterPiece == own { own = moved.own }
            moved = Moved(own: own, shownChange: shownChange, afterPiece: nil, hasNoWriter: !isClose)
        }
        begun.add(1, ordering: .sequentiallyConsistent)
        defer {
            if isClose, let after = try? Syscall.statx(descriptor).mtime, after != own {
                change(key) { $0 = Moved(own: own, shownChange: shownChange, afterPiece: after) }
            } else {
                // The file's time shows the last change of the program, not the fill.
                if !isClose {
                    try? Syscall.utimens(descriptor, access: .omit, modification: .set(own))
                    keepShown(key, descriptor, shownChange)
                }
                change(key) { $0 = nil }
            }
            lastEnd.store(SystemTime.monotonic(), ordering: .relaxed)
            ended.add(1, ordering: .sequentiallyConsistent)
        }
        return try piece()
    }

    private func keepShown(_ key: ObjectKey, _ descriptor: Int32, _ shown: Timespec) {
        guard let real = try? Syscall.statx(descriptor).ctime, real != shown else { return }
        shownChanges.withLock { $0.insert(key, real: real, shown: shown) }
        hasShownChanges.store(true, ordering: .sequentiallyConsistent)
    }

    private func shown(_ key: ObjectKey, _ real: Timespec) -> Timespec {
        hasShownChanges.load(ordering: .sequentiallyConsistent) ? shownChanges.withLock { $0.shown(key, real: real) } : real
    }

    /// Notes that a close which may have moved the time has ended.
    func noteClose(_ key: ObjectKey) {
        guard areAnyMoved else { return }
        change(key) { $0?.closedAt = SystemTime.monotonic() }
    }

    /// Restores the time after the last handle that could write was released. Call it under the file's exclusion.
    /// - Returns: whether the time was restored.
    func restore(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard let last = moved.withLock({ $0[key] }) else { return false }
        guard let now = try? Syscall.statx(descriptor), now.mtime == last.afterPiece else {
            discard(key)
            return false
        }
        try? preserve(of: key, now, descriptor, isClose: false) { () throws(Errno) in }
        return true
    }

    /// Forgets the program's time, because another handle can write and its writes must move the time.
    func discard(_ key: ObjectKey) {
        if areAnyMoved { change(key) { $0 = nil } }
    }

    /// Waits for the RELEASE that follows a close. If none comes, another process has the handle, and later calls do not wait. Call
    /// it without the metadata lock.
    func awaitRelease(_ key: ObjectKey) {
        guard areAnyMoved, checkRelease(key) else { return }
        defer { waiters.subtract(1, ordering: .relaxed) }
        guard waiters.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else { return }
        waiting {
            repeat { SystemTime.sleep(milliseconds: 1) } while checkRelease(key)
        }
    }

    private func checkRelease(_ key: ObjectKey) -> Bool {
        var isInFlight = false
        change(key) { moved in
            guard let last = moved, last.closedAt > 0 else { return }
            isInFlight = last.isReleaseInFlight
            if !isInFlight { moved?.hasTimedOut = true }
        }
        return isInFlight
    }

    /// The program's own modification time of an object whose status this request has read, and its change time without what the fill
    /// did after the close. It does not wait: GETATTR has waited before, and other replies have timeout 0.
    func times(of key: ObjectKey, _ status: FileStatus, _ descriptor: Int32) -> (modification: Timespec, change: Timespec) {
        guard mayHaveMoved else { return (status.mtime, shown(key, status.ctime)) }
        func hidden() -> (modification: Timespec, change: Timespec)? {
            guard let last = moved.withLock({ $0[key] }), last.isHidden else { return nil }
            return (last.own, last.hasNoWriter ? last.shownChange : shown(key, status.ctime))
        }
        if let times = hidden() { return times }
        var seen = (modification: status.mtime, change: shown(key, status.ctime))
        // Pieces of other files count too. Four attempts are enough to read one time between pieces of this file.
        for _ in 0..<4 {
            let (before, done) = (begun.load(ordering: .sequentiallyConsistent), ended.load(ordering: .sequentiallyConsistent))
            guard let now = try? Syscall.statx(descriptor, flags: AtFlag.dontSync) else { return seen }
            seen = (now.mtime, shown(key, now.ctime))
            if before == done, begun.load(ordering: .sequentiallyConsistent) == before { return seen }
            if let times = hidden() { return times }
        }
        return seen
    }

    /// Whether the shown time may change without the kernel's knowledge.
    func isTracked(_ key: ObjectKey) -> Bool {
        areAnyMoved && moved.withLock { $0[key] != nil }
    }

    /// Whether a piece may have run since the request read the status. A request is assumed to take less than a second.
    private var mayHaveMoved: Bool {
        if areAnyMoved { return true }
        if begun.load(ordering: .relaxed) != ended.load(ordering: .relaxed) { return true }
        let last = lastEnd.load(ordering: .relaxed)
        return last > 0 && SystemTime.monotonic() - last < 1_000_000_000
    }
}

/// The change times that files show since a fill has moved the real ones: a fill changes no byte, and a program that compares them while it
/// reads a file (tar) must not find it changed. In the order of their last fill; beyond the bound the older half is forgotten.
struct ShownChangeTimes {
    private struct Change {
        /// As the fill left it. Any other time comes from a change.
        var real: Timespec
        var shown: Timespec
    }

    /// Between this many files and twice as many are kept.
    private static let most = 2048
    private var young: [ObjectKey: Change] = [:]
    private var old: [ObjectKey: Change] = [:]

    var count: Int { young.count + old.count }

    /// Notes what a file shows instead of its change time.
    mutating func insert(_ key: ObjectKey, real: Timespec, shown: Timespec) {
        if young.count >= Self.most { (old, young) = (young, [:]) }
        young[key] = Change(real: real, shown: shown)
    }

    /// The change time that a file shows.
    func shown(_ key: ObjectKey, real: Timespec) -> Timespec {
        guard let change = young[key] ?? old[key], change.real == real else { return real }
        return change.shown
    }
}
