import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// A piece of a fill moves the file's time. While nobody can write it is set back at once, and whoever looks meanwhile is told
/// the program's own. A close's pieces may meet a write of another process that shares the handle, which nobody could tell from
/// them: the time is set back when the handle goes and this was its only close.
final class FillTimes: Sendable {
    private struct Moved {
        /// What the program made it.
        let own: Timespec
        /// What the last piece of a close made it; nil while one runs. Any other than this is somebody's write.
        var ours: Timespec?
        /// Nobody can write.
        var hasNoWriter = false
        /// When the close was over, on the monotonic clock; 0: not yet.
        var closedAt: UInt64 = 0
        /// The handle is still there: another process has it.
        var hasTimedOut = false

        /// Between a close and the RELEASE that follows it, if it comes.
        var isReleaseInFlight: Bool { closedAt > 0 && !hasTimedOut && SystemTime.monotonic() - closedAt < FillTimes.longestRelease }
        /// Whether the program's own time is shown. Once a close is over it may be another's write that moved it; but as long as it may
        /// still be set back, no time is shown that would go back.
        var isHidden: Bool { hasNoWriter || closedAt == 0 || isReleaseInFlight }
    }

    private let moved = Lock<[ObjectKey: Moved]>([:])
    /// How many.
    private let count = Atomic<Int>(0)
    private let begun = Atomic<UInt64>(0)
    private let ended = Atomic<UInt64>(0)
    /// When the last piece ended, on the monotonic clock; 0: none yet.
    private let lastEnd = Atomic<UInt64>(0)
    /// In nanoseconds: how long RELEASE may be on its way after the last close.
    private static let longestRelease: UInt64 = 50_000_000
    /// How many may wait for one at a time.
    private static let mostWaiting = 8
    private let waiters = Atomic<Int>(0)

    /// Whether there is any file whose time may be set back.
    var areAnyMoved: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    private func change(_ key: ObjectKey, _ body: (inout Moved?) -> Void) {
        moved.withLock { moved in
            body(&moved[key])
            count.store(moved.count, ordering: .sequentiallyConsistent)
        }
    }

    /// - Parameters:
    ///   - status: of before. Run alone on the file.
    ///   - isClose: there is a handle, so that setting back could undo what a write did to the time.
    func preserve<Value>(
        of key: ObjectKey, _ status: FileStatus, _ descriptor: Int32, isClose: Bool,
        during piece: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        var own = status.mtime
        change(key) { moved in
            if let moved, moved.ours == own { own = moved.own }
            moved = Moved(own: own, ours: nil, hasNoWriter: !isClose)
        }
        begun.add(1, ordering: .sequentiallyConsistent)
        defer {
            if isClose, let after = try? Syscall.statx(descriptor).mtime, after != own {
                change(key) { $0 = Moved(own: own, ours: after) }
            } else {
                // The program's last change is what the file's time says, not ours.
                if !isClose { try? Syscall.utimens(descriptor, access: .omit, modification: .set(own)) }
                change(key) { $0 = nil }
            }
            lastEnd.store(SystemTime.monotonic(), ordering: .relaxed)
            ended.add(1, ordering: .sequentiallyConsistent)
        }
        return try piece()
    }

    /// A close that may have moved the time is over.
    func noteClose(_ key: ObjectKey) {
        guard areAnyMoved else { return }
        change(key) { $0?.closedAt = SystemTime.monotonic() }
    }

    /// The last handle that could write has gone. Run alone.
    /// - Returns: whether the time was set back.
    func restore(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard let last = moved.withLock({ $0[key] }) else { return false }
        guard let now = try? Syscall.statx(descriptor), now.mtime == last.ours else {
            discard(key)
            return false
        }
        try? preserve(of: key, now, descriptor, isClose: false) { () throws(Errno) in }
        return true
    }

    /// Somebody else can write, too: what he writes must move the time.
    func discard(_ key: ObjectKey) {
        if areAnyMoved { change(key) { $0 = nil } }
    }

    /// Waits for the RELEASE that follows a close. Where none comes, others have the handle: that is waited for once. Not to be
    /// called under `metadataLock`.
    func awaitRelease(_ key: ObjectKey) {
        guard areAnyMoved, isReleaseInFlight(key) else { return }
        defer { waiters.subtract(1, ordering: .relaxed) }
        guard waiters.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else { return }
        waiting {
            repeat { SystemTime.sleep(milliseconds: 1) } while isReleaseInFlight(key)
        }
    }

    private func isReleaseInFlight(_ key: ObjectKey) -> Bool {
        var isInFlight = false
        change(key) { moved in
            guard let last = moved, last.closedAt > 0 else { return }
            isInFlight = last.isReleaseInFlight
            if !isInFlight { moved?.hasTimedOut = true }
        }
        return isInFlight
    }

    /// The program's own time of an object whose status was read lately, in the same request. Waits for nobody: GETATTR
    /// does before it comes here, and other answers hold for no time.
    func modification(of key: ObjectKey, _ status: FileStatus, _ descriptor: Int32) -> Timespec {
        guard mayHaveMoved else { return status.mtime }
        if let last = moved.withLock({ $0[key] }), last.isHidden { return last.own }
        var seen = status.mtime
        // Other files' pieces look like this one's; none that ended meanwhile is this one's again and again.
        for _ in 0..<4 {
            let (before, done) = (begun.load(ordering: .sequentiallyConsistent), ended.load(ordering: .sequentiallyConsistent))
            guard let now = try? Syscall.statx(descriptor, flags: AtFlag.dontSync) else { return seen }
            seen = now.mtime
            if before == done, begun.load(ordering: .sequentiallyConsistent) == before { return seen }
            if let running = moved.withLock({ $0[key] }), running.isHidden { return running.own }
        }
        return seen
    }

    /// What is shown of its time changes without the kernel's knowledge.
    func isTracked(_ key: ObjectKey) -> Bool {
        areAnyMoved && moved.withLock { $0[key] != nil }
    }

    /// A request that takes longer than a second from reading a status to answering is not worth a look at each one's.
    private var mayHaveMoved: Bool {
        if areAnyMoved { return true }
        if begun.load(ordering: .relaxed) != ended.load(ordering: .relaxed) { return true }
        let last = lastEnd.load(ordering: .relaxed)
        return last > 0 && SystemTime.monotonic() - last < 1_000_000_000
    }
}
