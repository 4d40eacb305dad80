import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// What is known of a file that is open for writing, or was and has gaps that are not filled. One for all mounts of a tree, because
/// a handle of any mount can write.
final class WritableFile: Sendable {
    /// What changes together, under one lock.
    struct State {
        /// The number of handles that can write. Each counts until its RELEASE, and so do its mappings.
        var writers = 0
        /// The end of the file before the first of these handles was opened, or a later truncation. Holes before it are no gaps.
        var oldEnd: UInt64 = 0
        /// All gaps from the old end up to here are reserved.
        var examinedEnd: UInt64 = 0
        /// Ranges that a program punched or reserved itself.
        var excluded = ByteRanges()
        var hasGaps = false
        /// Only root opened the file for writing or extended it, so that root's reserve may be used.
        var isRootOnly = true
        var spendsRootReserve = false
        /// The uid whose budget pays for the zeros: the user of the last close with gaps, or of the first open. Root only if no
        /// other user could write: a file that a user leaves open for a program of root's stays that user's.
        var user: UInt32 = 0
        /// The largest gap that is written after the last close, in bytes; nil: none.
        var largestWritten: UInt64?
        /// The bytes of zeros that the gaps of one user may cost in a minute; nil: no limit.
        var budget: UInt64?
        var pace = ReservingPace()
        /// The number of gaps that were reserved. If it is large, the next gaps are reserved together.
        var pieces = 0
        /// A range of which a part may be reserved although the rest did not fit. The fill releases it after the last close.
        var partialReservation: Range<UInt64>?
        /// The end of the file at the last RELEASE. A later extension without a handle makes no gap.
        var closedEnd: UInt64 = 0
        /// Zeros are written up to here, maybe within a gap.
        var filledEnd: UInt64 = 0
        var isInGap = false
        /// A job to write zeros exists.
        var isQueued = false
        /// The descriptor that the fill writes through. The next open for writing closes it, because a mapping of that handle may
        /// remain.
        var fillDescriptor: SharedDescriptor?
        /// A reservation of a close has moved st_mtime since the present writers opened the file.
        var hasMovedTime = false
        /// The closes since then. A second one tells that several processes share a handle.
        var closes = 0
        /// How often the file was opened for writing.
        var opens: UInt64 = 0
    }

    let key: ObjectKey
    /// Held for each act that must not coincide with a piece of the fill: opens for writing, changes of attributes, the piece
    /// itself. Taken before the metadata lock, never after it.
    private let exclusion = Lock(())
    private let waiters = Atomic<Int>(0)
    /// The holder of `exclusion` is the fill, or restores a time after a close.
    private let isFilling = Atomic<Bool>(false)
    let state = Lock(State())
    /// The owners of this value. Changed only under the lock of `WritableFiles`.
    fileprivate nonisolated(unsafe) var references = 0

    fileprivate init(key: ObjectKey) { self.key = key }

    /// Runs a body under the file's exclusion. As a rule it waits for one piece of the fill; an act on a held file may take any
    /// time.
    /// - Parameter isShort: `body` waits for no disk. If no thread has the exclusion, no other thread replaces this one then: a user who asks for
    ///   much at a time gets no more threads than others.
    /// - Throws: `held` after the deadline; and what `body` throws.
    func exclusively<Value>(
        _ held: HeldFiles, for user: UInt32, isShort: Bool = false, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let isFirst = waiters.add(1, ordering: .relaxed).oldValue == 0
        defer { waiters.subtract(1, ordering: .relaxed) }
        if isShort, isFirst, let value = try withExclusion(within: 0, body) { return value }
        if isFirst {
            if let value = try perhapsWaiting({ () throws(Errno) in try withExclusion(within: HeldFiles.shortWait, body) }) { return value }
        } else if held.isKnownHeld(key) {
            throw .held
        } else if let value = try waiting({ () throws(Errno) in try withExclusion(within: HeldFiles.shortWait, body) }) {
            return value
        }
        if held.isKnownHeld(key) { throw .held }
        // A fill waits for a disk. Another act may wait for a holder, while this request keeps the kernel's lock on the file.
        let time = isFilling.load(ordering: .relaxed) ? HeldFiles.Deadlines.data.untilFree : HeldFiles.Deadlines.change.untilFree
        let result =
            held.waitLong(for: user) { Result { () throws(Errno) in try withExclusion(within: time, body) } }
            ?? waiting { Result { () throws(Errno) in try withExclusion(within: HeldFiles.contendedWait, body) } }
        guard let value = try result.get() else { throw .held }
        return value
    }

    /// Runs a body under the file's exclusion, without a caller.
    /// - Parameter time: nanoseconds to wait at most.
    /// - Returns: nil if the exclusion was not free in time.
    func tryExclusively<Value>(within time: UInt64, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        waiters.add(1, ordering: .relaxed)
        defer { waiters.subtract(1, ordering: .relaxed) }
        return try withExclusion(within: time) { () throws(Errno) in
            isFilling.store(true, ordering: .relaxed)
            defer { isFilling.store(false, ordering: .relaxed) }
            return try body()
        }
    }

    private func withExclusion<Value>(within time: UInt64, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        try exclusion.withLock(within: time) { _ throws(Errno) in try body() }
    }

    /// Whether a request waits for the exclusion. The fill then pauses.
    var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }

    /// Notes a new handle that can write. Call it under the exclusion, with the size after the open.
    func noteOpen(size: UInt64, by user: UInt32) {
        // Closed after the lock is released.
        var fillDescriptor: SharedDescriptor?
        state.withLock { state in
            fillDescriptor = state.fillDescriptor
            state.fillDescriptor = nil
            if state.writers == 0, !state.hasGaps {
                let (isQueued, opens) = (state.isQueued, state.opens)
                state = State()
                (state.isQueued, state.opens) = (isQueued, opens)
                (state.oldEnd, state.examinedEnd) = (size, size)
            }
            if state.writers == 0 { (state.hasMovedTime, state.closes) = (false, 0) }
            state.writers += 1
            state.opens += 1
            (state.filledEnd, state.isInGap) = (0, false)
            state.oldEnd = min(state.oldEnd, size)
            state.examinedEnd = min(state.examinedEnd, size)
            state.excluded.cut(at: size)
            if user != 0 { state.isRootOnly = false }
            if state.user == 0 { state.user = user }
        }
        withExtendedLifetime(fillDescriptor) {}
    }

    /// Notes a new size. Call it under the exclusion.
    func noteTruncation(to size: UInt64, by user: UInt32) {
        state.withLock { state in
            state.oldEnd = min(state.oldEnd, size)
            state.examinedEnd = min(state.examinedEnd, size)
            state.closedEnd = min(state.closedEnd, size)
            state.excluded.cut(at: size)
            (state.filledEnd, state.isInGap) = (0, false)
            state.partialReservation = state.partialReservation.flatMap {
                $0.lowerBound < size ? $0.lowerBound..<min($0.upperBound, size) : nil
            }
            // A user who extends a file that root has open must not use root's reserve.
            if user != 0 { (state.isRootOnly, state.spendsRootReserve) = (false, false) }
            if state.user == 0 { state.user = user }
        }
    }

    /// Notes that the space was not enough for a range.
    func noteFailedReservation(_ range: Range<UInt64>) {
        state.withLock { state in
            let start = min(range.lowerBound, state.partialReservation?.lowerBound ?? .max)
            state.partialReservation = start..<max(range.upperBound, state.partialReservation?.upperBound ?? 0)
        }
    }

    /// Excludes a range that a program reserved or punched itself.
    func exclude(_ range: Range<UInt64>) { state.withLock { $0.excluded.add(range) } }
}

/// All files that are open for writing or have gaps to fill, and counters of what was done.
final class WritableFiles: Sendable {
    private let files = Lock<[ObjectKey: WritableFile]>([:])
    let reservedBytes = Atomic<UInt64>(0)
    let writtenBytes = Atomic<UInt64>(0)
    /// Files of which a gap stays a hole: there was no space, or the backing file system cannot reserve.
    let leftWithHoles = Atomic<UInt64>(0)
    let filler = ZeroFiller()
    private let spending = Lock(ZeroFillSpending())
    let times = FillTimes()

    /// Each call needs one of `release`.
    func retain(_ key: ObjectKey) -> WritableFile {
        files.withLock { files in
            let writableFile = files[key] ?? WritableFile(key: key)
            writableFile.references += 1
            files[key] = writableFile
            return writableFile
        }
    }

    func release(_ writableFile: WritableFile) {
        files.withLock { files in
            writableFile.references -= 1
            if writableFile.references == 0 { files[writableFile.key] = nil }
        }
    }

    /// Whether a request needs the file's exclusion: it is open for writing, is being opened, or has gaps that are not filled.
    func isKnown(_ key: ObjectKey) -> Bool { files.withLock { $0[key] != nil } }

    func isOpenForWriting(_ key: ObjectKey) -> Bool {
        let writableFile = files.withLock { $0[key] }
        return writableFile?.state.withLock { $0.writers > 0 } ?? false
    }

    /// Charges the budget with zeros.
    /// - Returns: whether the budget allows them now.
    func spend(_ count: UInt64, _ state: WritableFile.State) -> Bool {
        if state.budget == nil { return true }
        return spending.withLock { $0.spend(count, for: state.user, of: state.budget, now: SystemTime.monotonic()) }
    }

    /// Whether the budget allows the next piece of so many bytes now.
    func maySpend(_ count: UInt64, _ state: WritableFile.State) -> Bool {
        spending.withLock { spending in
            spending.allows(min(count, Gaps.largestPiece), for: state.user, of: state.budget, now: SystemTime.monotonic())
        }
    }

    func countFileWithHoles() { leftWithHoles.add(1, ordering: .relaxed) }
}
