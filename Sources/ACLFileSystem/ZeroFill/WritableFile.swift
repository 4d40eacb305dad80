import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// A file that is open for writing, or was and still has gaps to be filled: how far it reached before, and what of
/// the part that it grew by was seen to. One for all mounts of a tree, because each of them can write.
final class WritableFile: Sendable {
    struct State {
        /// Handles that can write; each counts until its RELEASE, so mappings count as well.
        var writers = 0
        /// The end of the file before the first of these handles, or what it was cut to since. Holes before it are
        /// not ours.
        var oldEnd: UInt64 = 0
        /// Between the old end and here all gaps were looked at, and room was reserved for them.
        var examinedEnd: UInt64 = 0
        /// What a program punched or reserved itself stays as it is.
        var excluded = ByteRanges()
        var hasGaps = false
        /// Only root opened it for writing or made it longer; then root may pay.
        var isRootOnly = true
        var spendsRootReserve = false
        /// Whose budget its zeros are written from: who closed it last with gaps, or opened it first. Root only where nobody
        /// else could write: what a user leaves open for a program of root's is still the user's.
        var user: UInt32 = 0
        /// Gaps up to this size are written at the last close; nil: none.
        var largestWritten: UInt64?
        /// How many bytes of zeros each user's gaps may cost in a minute; nil: any number.
        var budget: UInt64?
        var pace = ReservingPace()
        /// How many gaps room was reserved for; when they were many, the next are taken together.
        var pieces = 0
        /// Here something may have been reserved before there was no more room: to be given back by the last close.
        var partialReservation: Range<UInt64>?
        /// The end of the file when the last of them went: what it grows by later, without a handle, is no gap of
        /// a handle's.
        var closedEnd: UInt64 = 0
        /// Zeros are written up to here, perhaps in the middle of a gap.
        var filledEnd: UInt64 = 0
        var isInGap = false
        /// Zeros are being written, or will be.
        var isQueued = false
        /// What the fill writes through; gone as soon as somebody opens the file for writing, of whom a mapping may be left.
        var fillDescriptor: SharedDescriptor?
        /// The room that a close took moved st_mtime since the present writers came.
        var hasMovedTime = false
        /// Closes since then: with a second one some process shares the handle.
        var closes = 0
        /// How often it was opened for writing.
        var opens: UInt64 = 0
    }

    let key: ObjectKey
    /// Held for each act that must not meet zeros being written: opening for writing, changing attributes, and each
    /// piece of the fill. Before the metadata lock, never after.
    private let exclusion = Lock(())
    private let waiters = Atomic<Int>(0)
    /// Who runs alone is the fill, or what sets a time back behind a close.
    private let isFilling = Atomic<Bool>(false)
    let state = Lock(State())
    /// Who holds this value; changed only under the table's mutex.
    fileprivate nonisolated(unsafe) var references = 0

    fileprivate init(key: ObjectKey) { self.key = key }

    /// Runs alone among such acts on the file. Waits for one piece of a fill, as a rule; an act on a held file may take as long
    /// as its holder wants.
    /// - Throws: `held` if others had it for too long; and what `body` throws.
    func exclusively<Value>(_ held: HeldFiles, for user: UInt32, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        defer { waiters.subtract(1, ordering: .relaxed) }
        if waiters.add(1, ordering: .relaxed).oldValue == 0 {
            if let value = try perhapsWaiting({ () throws(Errno) in try withExclusion(until: HeldFiles.shortWait, body) }) { return value }
        } else if held.isKnownHeld(key) {
            throw .held
        } else if let value = try waiting({ () throws(Errno) in try withExclusion(until: HeldFiles.shortWait, body) }) {
            return value
        }
        if held.isKnownHeld(key) { throw .held }
        // A fill waits for a disk. Any other act may wait for a holder, and the kernel's lock on the file is held by who waits here.
        let time = isFilling.load(ordering: .relaxed) ? HeldFiles.Deadlines.data.untilFree : HeldFiles.Deadlines.change.untilFree
        let result =
            held.waitLong(for: user) { Result { () throws(Errno) in try withExclusion(until: time, body) } }
            ?? waiting { Result { () throws(Errno) in try withExclusion(until: HeldFiles.contendedWait, body) } }
        guard let value = try result.get() else { throw .held }
        return value
    }

    /// As `alone`, without a caller.
    /// - Returns: nil if others had it for so many nanoseconds.
    func tryExclusively<Value>(within time: UInt64, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        waiters.add(1, ordering: .relaxed)
        defer { waiters.subtract(1, ordering: .relaxed) }
        return try withExclusion(until: time) { () throws(Errno) in
            isFilling.store(true, ordering: .relaxed)
            defer { isFilling.store(false, ordering: .relaxed) }
            return try body()
        }
    }

    private func withExclusion<Value>(until time: UInt64, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        try exclusion.withLock(within: time) { _ throws(Errno) in try body() }
    }

    /// Somebody waits for his turn: the fill lets him go first.
    var hasWaiters: Bool { waiters.load(ordering: .relaxed) > 0 }

    /// A handle that can write. Run alone, with the size after opening.
    func noteOpen(size: UInt64, by user: UInt32) {
        // Closed after the lock was let go.
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

    /// A size was set. Run alone.
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
            // Whoever makes a file longer that root has open must not spend root's reserve.
            if user != 0 { (state.isRootOnly, state.spendsRootReserve) = (false, false) }
            if state.user == 0 { state.user = user }
        }
    }

    /// There was room for a part of this only.
    func noteFailedReservation(_ range: Range<UInt64>) {
        state.withLock { state in
            let start = min(range.lowerBound, state.partialReservation?.lowerBound ?? .max)
            state.partialReservation = start..<max(range.upperBound, state.partialReservation?.upperBound ?? 0)
        }
    }

    /// A program reserved or punched this itself.
    func exclude(_ range: Range<UInt64>) { state.withLock { $0.excluded.add(range) } }
}

/// The files that grow, and what was done about their gaps.
final class WritableFiles: Sendable {
    private let files = Lock<[ObjectKey: WritableFile]>([:])
    let reservedBytes = Atomic<UInt64>(0)
    let writtenBytes = Atomic<UInt64>(0)
    /// Files in which a gap stays a hole: no room, or the backing file system cannot reserve.
    let leftWithHoles = Atomic<UInt64>(0)
    let filler = ZeroFiller()
    private let spending = Lock(ZeroFillSpending())
    let times = FillTimes()

    /// To be given back by `drop`.
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

    func isOpenForWriting(_ key: ObjectKey) -> Bool {
        let writableFile = files.withLock { $0[key] }
        return writableFile?.state.withLock { $0.writers > 0 } ?? false
    }

    /// Whether zeros may be written now; then they count.
    func spend(_ count: UInt64, _ state: WritableFile.State) -> Bool {
        if state.budget == nil { return true }
        return spending.withLock { $0.spend(count, for: state.user, of: state.budget, now: SystemTime.monotonic()) }
    }

    /// Whether the next piece of so much may be written now.
    func maySpend(_ count: UInt64, _ state: WritableFile.State) -> Bool {
        spending.withLock { spending in
            spending.allows(min(count, Gaps.largestPiece), for: state.user, of: state.budget, now: SystemTime.monotonic())
        }
    }

    func countFileWithHoles() { leftWithHoles.add(1, ordering: .relaxed) }
}
