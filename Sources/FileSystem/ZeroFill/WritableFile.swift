import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// The result of one step.
enum FillStep {
    case more
    case done
    /// A handle can write again; its last close fills the rest.
    case hasWriter
    /// A program can write without a handle. The kernel does not tell when that ends.
    case blocked
    /// The budget for zeros is spent at present.
    case overBudget
    /// The file system cannot reserve, or the file must not be changed.
    case impossible
}

/// Who pays for the gaps of a file, and which are written.
private struct GapPayment {
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

    /// A user opens the file for writing, or changes its size. A user who extends a file that root has open must not use root's reserve.
    mutating func join(_ user: UInt32) {
        if user != 0 { (isRootOnly, spendsRootReserve) = (false, false) }
        if self.user == 0 { self.user = user }
    }

    mutating func close(by caller: Caller, hasExtended: Bool) {
        spendsRootReserve = isRootOnly && caller.uid == 0
        if hasExtended, caller.uid != 0 || isRootOnly { user = caller.payer }
    }
}

/// What is known of a file that is open for writing, or was and has gaps that are not filled. One for all mounts of a tree, because
/// a handle of any mount can write.
final class WritableFile: Sendable {
    private enum Phase {
        /// No handle can write, and there is nothing to fill.
        case atRest
        /// So many handles can write. Each counts until its RELEASE, and so do its mappings.
        case open(writers: Int, hasGaps: Bool)
        /// No handle can write; its gaps are to be filled, or stay.
        case closedWithGaps
    }
    private enum Fill {
        case none
        /// A job to write zeros exists. What it waits for is in the job.
        case queued
        /// It writes through this descriptor. The next open for writing closes it, because a mapping of that handle may remain.
        case running(SharedDescriptor)
    }
    private struct State {
        var phase = Phase.atRest
        var fill = Fill.none
        var gaps = Gaps()
        var payment = GapPayment()
        /// How often the file was opened for writing.
        var opens: UInt64 = 0
        /// The closes since the present writers opened the file. A second one tells that several processes share a handle.
        var closes = 0
        /// A reservation of such a close has moved st_mtime.
        var hasMovedTime = false

        var writers: Int { if case .open(let writers, _) = phase { writers } else { 0 } }
        var hasGaps: Bool {
            switch phase {
            case .atRest: false
            case .open(_, let hasGaps): hasGaps
            case .closedWithGaps: true
            }
        }

        mutating func noteGap() {
            switch phase {
            case .atRest, .closedWithGaps: phase = .closedWithGaps
            case .open(let writers, _): phase = .open(writers: writers, hasGaps: true)
            }
        }

        /// - Returns: what the fill writes through, to be closed after the lock is released.
        mutating func closeFill() -> SharedDescriptor? {
            guard case .running(let descriptor) = fill else { return nil }
            fill = .queued
            return descriptor
        }
    }

    let key: ObjectKey
    /// Held for each act that must not coincide with a piece of the fill: opens for writing, changes of attributes, the piece
    /// itself. Taken before the metadata lock, never after it.
    private let exclusion = Lock(())
    private let waiters = Atomic<Int>(0)
    /// The holder of `exclusion` is the fill, or restores a time after a close.
    private let isFilling = Atomic<Bool>(false)
    private let state = Lock(State())
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
}

// MARK: Handles

extension WritableFile {
    var isOpenForWriting: Bool { state.withLock { $0.writers > 0 } }

    /// Notes a new handle that can write. Call it under the exclusion, with the size after the open.
    func noteOpen(size: UInt64, by user: UInt32) {
        let descriptor = state.withLock { state in
            let descriptor = state.closeFill()
            switch state.phase {
            case .open(let writers, let hasGaps): state.phase = .open(writers: writers + 1, hasGaps: hasGaps)
            case .atRest:
                (state.gaps, state.payment) = (Gaps(end: size), GapPayment())
                fallthrough
            case .closedWithGaps:
                state.phase = .open(writers: 1, hasGaps: state.hasGaps)
                (state.hasMovedTime, state.closes) = (false, 0)
            }
            state.opens += 1
            state.gaps.reopen(at: size)
            state.payment.join(user)
            return descriptor
        }
        withExtendedLifetime(descriptor) {}
    }

    /// Notes a new size. Call it under the exclusion.
    func noteTruncation(to size: UInt64, by user: UInt32) {
        state.withLock { state in
            state.gaps.truncate(to: size)
            state.payment.join(user)
        }
    }

    /// Excludes a range that a program reserved or punched itself.
    func exclude(_ range: Range<UInt64>) { state.withLock { $0.gaps.exclude(range) } }

    /// Notes that a descriptor was closed, at this size.
    /// - Returns: whether another one was before, and whether there is something to reserve.
    func noteClose(size: UInt64, by caller: Caller) -> (isRepeated: Bool, hasExtended: Bool) {
        state.withLock { state in
            let hasExtended = size > state.gaps.examinedEnd
            state.payment.close(by: caller, hasExtended: hasExtended)
            state.closes += 1
            return (state.closes > 1, hasExtended)
        }
    }

    var hasGaps: Bool { state.withLock { $0.hasGaps } }

    /// Notes that zeros are to be written when no handle can write any more.
    /// - Returns: whether the file has gaps.
    func requestZeros(upTo largest: UInt64, _ budget: UInt64?) -> Bool {
        state.withLock { state in
            state.payment.largestWritten = max(state.payment.largestWritten ?? 0, largest)
            state.payment.budget = budget
            return state.hasGaps
        }
    }

    /// Notes that a handle that could write was released.
    /// - Parameters:
    ///   - size: of the file.
    ///   - reserves: what no close has reserved is reserved now.
    /// - Returns: whether the caller has to make a job. After the last handle, if there is something to fill and no job yet.
    func noteRelease(size: UInt64, reserves: Bool) -> Bool {
        state.withLock { state in
            state.gaps.close(at: size)
            guard case .open(let writers, let hasGaps) = state.phase else { return false }
            guard writers == 1 else {
                state.phase = .open(writers: writers - 1, hasGaps: hasGaps)
                return false
            }
            let isDue =
                reserves && size > state.gaps.examinedEnd || state.gaps.failed != nil || hasGaps && state.payment.largestWritten != nil
            state.phase = isDue ? .closedWithGaps : .atRest
            guard isDue, case .none = state.fill else { return false }
            state.fill = .queued
            return true
        }
    }

    /// Whether a close of the only handle has moved st_mtime.
    var mayRestoreTime: Bool { state.withLock { $0.writers == 1 && $0.hasMovedTime } }
    /// Whether it was the only close.
    var wasClosedOnce: Bool { state.withLock { $0.writers == 1 && $0.closes == 1 } }
    var opens: UInt64 { state.withLock { $0.opens } }
    /// Whether no handle can write, and none could since `opens` was read.
    func isClosed(since opens: UInt64) -> Bool { state.withLock { $0.writers == 0 && $0.opens == opens } }
}

// MARK: For another process

extension WritableFile {
    /// - Parameter node: by which the file is found again.
    /// - Returns: nil if no handle can write.
    fileprivate func save(_ node: UInt64) -> SavedWritableFile? {
        let state = state.withLock { $0 }
        guard state.writers > 0 else { return nil }
        return SavedWritableFile(
            node: node, opens: state.opens, closes: state.closes, hasGaps: state.hasGaps, gaps: state.gaps.saved,
            isRootOnly: state.payment.isRootOnly, spendsRootReserve: state.payment.spendsRootReserve, user: state.payment.user,
            largestWritten: state.payment.largestWritten, budget: state.payment.budget)
    }

    /// Call before the first request.
    /// - Parameter writers: the handles that can write, at least one.
    fileprivate func restore(_ saved: SavedWritableFile, writers: Int) {
        state.withLock { state in
            state.phase = .open(writers: writers, hasGaps: saved.hasGaps)
            state.gaps = Gaps(saved.gaps)
            state.payment = GapPayment(
                isRootOnly: saved.isRootOnly, spendsRootReserve: saved.spendsRootReserve, user: saved.user,
                largestWritten: saved.largestWritten, budget: saved.budget)
            (state.opens, state.closes) = (saved.opens, saved.closes)
        }
    }
}

// MARK: Reserving

extension WritableFile {
    /// Reserves blocks for the gaps that were not examined yet.
    /// - Parameters:
    ///   - size: what another handle appends meanwhile is left to its own close.
    ///   - movesTime: st_mtime moves in any case, as far as this handle and mappings go.
    ///   - isInterrupted: a signal asks the caller to stop; asked between two pieces.
    /// - Returns: `impossible` if a gap has to stay as it is.
    /// - Throws: `nospc` and `dquot`: it does not fit. `held`, `intr`.
    func reserve(
        _ holes: Holes, upTo size: UInt64, _ share: Share, for user: UInt32, movesTime: @autoclosure () -> Bool, _ isInterrupted: () -> Bool
    ) throws(Errno) -> FillStep {
        let before = state.withLock { $0 }
        guard size > before.gaps.examinedEnd else { return .done }
        let range = before.gaps.examinedEnd..<size
        // Reserve nothing if not everything fits.
        try requireSpace(holes, range, before, share)
        // Another handle can write, or a process with the same one. A store through a mapping is neither seen nor followed by a close.
        let movesTime = before.writers > 1 || before.closes > 1 || movesTime()
        func reserveNext() throws(Errno) -> FillStep {
            do throws(Errno) {
                return try exclusively(share.held, for: user) { () throws(Errno) in
                    try self.reserveNext(
                        holes, upTo: size, share.writableFiles, asRoot: before.payment.spendsRootReserve, movesTime: movesTime)
                }
            } catch {
                if error != .held { state.withLock { $0.gaps.fail(in: range) } }
                throw error
            }
        }
        var step = try reserveNext()
        if step == .more {
            try waiting { () throws(Errno) in
                var askedAt = SystemTime.monotonic()
                while step == .more {
                    step = try reserveNext()
                    let now = SystemTime.monotonic()
                    guard step == .more, now - askedAt >= 10_000_000 else { continue }
                    askedAt = now
                    if isInterrupted() { throw .intr }
                }
            }
        }
        if step == .done { state.withLock { $0.gaps.endFailure() } }
        return step
    }

    /// - Throws: `nospc` if the gaps do not fit.
    private func requireSpace(_ holes: Holes, _ range: Range<UInt64>, _ state: State, _ share: Share) throws(Errno) {
        for _ in 0..<20 {
            guard try holes.exceedFreeSpace(in: range, excluding: state.gaps.excluded, forRoot: state.payment.spendsRootReserve) else {
                return
            }
            // The filler may hold blocks of a removed file until its next step.
            guard share.writableFiles.filler.count > 0 else { break }
            waiting { SystemTime.sleep(milliseconds: 5) }
        }
        throw .nospc
    }

    /// Reserves one gap or a piece of it, or several small gaps together. It changes no byte and no size, so writes may run meanwhile. Call it
    /// under the exclusion.
    /// - Parameters:
    ///   - end: gaps past it are ignored.
    ///   - movesTime: other handles can write, so that the modification time moves in any case.
    private func reserveNext(
        _ holes: Holes, upTo end: UInt64, _ files: WritableFiles, asRoot: Bool, movesTime: Bool = false
    ) throws(Errno) -> FillStep {
        let (gaps, isClose) = state.withLock { ($0.gaps, $0.writers > 0) }
        // The end of the file counts as a hole: without one before `end` the file reaches there.
        if gaps.examinedEnd < end, let hole = try holes.seek(gaps.examinedEnd, Seek.hole), hole >= end {
            state.withLock { $0.gaps.examine(upTo: end) }
            return .done
        }
        let status = try Syscall.statx(holes.descriptor)
        let limit = min(status.size, end)
        let range = gaps.examinedEnd..<max(limit, gaps.examinedEnd)
        let part = gaps.excluded.firstFree(in: range)
        guard let part, let gap = try holes.first(in: part) else {
            let end = part?.upperBound ?? range.upperBound
            state.withLock { $0.gaps.examine(upTo: end) }
            return end < range.upperBound ? .more : .done
        }
        state.withLock { $0.noteGap() }
        func leave() -> FillStep {
            state.withLock { $0.gaps.examine(upTo: limit) }
            return .impossible
        }
        if holes.areOfFileWithCapabilities { return leave() }
        let piece = gaps.piece(of: gap, in: part)
        let began = SystemTime.monotonic()
        do throws(Errno) {
            if movesTime {
                try allocate(piece, holes, AllocateFlag.keepSize, asRoot)
            } else {
                if isClose { state.withLock { $0.hasMovedTime = true } }
                try files.times.preserve(of: key, status, holes.descriptor, isClose: isClose) { () throws(Errno) in
                    try allocate(piece, holes, AllocateFlag.keepSize, asRoot)
                }
            }
        } catch {
            if error == .intr { return .more }
            guard error == .opnotsupp || error == .nosys else { throw error }
            return leave()
        }
        let took = SystemTime.monotonic() - began
        files.countReserved(from: status.blocks, to: (try? Syscall.statx(holes.descriptor).blocks) ?? status.blocks)
        state.withLock { $0.gaps.reserved(piece, in: took) }
        return .more
    }

    private func allocate(_ piece: Range<UInt64>, _ holes: Holes, _ mode: Int32, _ asRoot: Bool) throws(Errno) {
        try run(asRoot) { () throws(Errno) in
            try Syscall.fallocate(
                holes.descriptor, mode: mode, offset: Int64(clamping: piece.lowerBound),
                length: Int64(clamping: piece.upperBound - piece.lowerBound))
        }
    }

    private func run<Value>(_ asRoot: Bool, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        asRoot ? try FileSystemUser.asRoot(body) : try body()
    }
}

// MARK: Filling

/// The zeros that are written. The buffer is never changed or freed.
nonisolated(unsafe) private let zeros: UnsafeRawBufferPointer = {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(WritableFile.largestPiece), alignment: 4096)
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    return UnsafeRawBufferPointer(buffer)
}()

extension WritableFile {
    /// The bytes of zeros that one step writes.
    static let largestPiece: UInt64 = 256 << 10

    /// The uid whose budget pays.
    var payer: UInt32 { state.withLock { $0.payment.user } }

    /// What the fill goes on with: its descriptor if it has one, and the number of opens.
    /// - Returns: nil if a handle can write.
    func beginFillStep() -> (descriptor: SharedDescriptor?, opens: UInt64)? {
        state.withLock { state in
            if state.writers > 0 { return nil }
            if case .running(let descriptor) = state.fill { return (descriptor, state.opens) }
            return (nil, state.opens)
        }
    }

    /// Notes what the fill writes through from now on.
    func beginFill(through descriptor: SharedDescriptor) {
        let gaps = state.withLock { state in
            state.fill = .running(descriptor)
            return state.gaps
        }
        // Pages of a gap that were read lie in the page cache, and SEEK_DATA would report them as data.
        if gaps.oldEnd < gaps.closedEnd {
            try? Syscall.dropCached(
                descriptor.rawValue, offset: Int64(clamping: gaps.oldEnd), length: Int64(clamping: gaps.closedEnd - gaps.oldEnd))
        }
    }

    /// Closes the file while its zeros wait for the budget.
    func interruptFill() {
        let descriptor = state.withLock { $0.closeFill() }
        withExtendedLifetime(descriptor) {}
    }

    /// Notes that the job has ended.
    /// - Parameters:
    ///   - isFilled: there is nothing left to do.
    ///   - opens: when the job last looked; nil: it ends whatever has happened since.
    /// - Returns: false if the file was opened and closed since then. That close made no job, so this one goes on.
    func endFill(isFilled: Bool, since opens: UInt64?) -> Bool {
        let (hasEnded, descriptor) = state.withLock { state -> (Bool, SharedDescriptor?) in
            if let opens, state.writers == 0, state.opens != opens { return (false, nil) }
            let descriptor = state.closeFill()
            state.fill = .none
            if isFilled, state.writers == 0 { state.phase = .atRest }
            return (true, descriptor)
        }
        withExtendedLifetime(descriptor) {}
        return hasEnded
    }

    /// Makes the next step of the fill. Call it under the exclusion and only while no program can write: a hole holds no data then, reserved
    /// or not.
    /// - Parameter isSpaceChecked: of the fill, since the file was opened for it.
    func fillNext(_ holes: Holes, _ files: WritableFiles, isSpaceChecked: inout Bool) throws(Errno) -> FillStep {
        let (gaps, payment) = state.withLock { ($0.gaps, $0.payment) }
        if let range = gaps.failed {
            // close(2) has failed with ENOSPC, so the gap stays a hole.
            isSpaceChecked = true
            state.withLock { $0.gaps.giveUp(from: range.lowerBound) }
            if try releaseNext(of: range, gaps, holes, files) { files.countFileWithHoles() }
            return .more
        }
        // The size at the last RELEASE. A mapping may have written after the last FLUSH.
        let end = gaps.closedEnd
        if gaps.examinedEnd < end {
            let range = gaps.examinedEnd..<end
            if !isSpaceChecked, try holes.exceedFreeSpace(in: range, excluding: gaps.excluded, forRoot: payment.spendsRootReserve) {
                files.countFileWithHoles()
                state.withLock { $0.gaps.giveUp(from: range.lowerBound) }
                return .more
            }
            isSpaceChecked = true
            if range.lowerBound < min(end, try Syscall.statx(holes.descriptor).size) {
                var step = FillStep.more
                do throws(Errno) { step = try reserveNext(holes, upTo: end, files, asRoot: payment.spendsRootReserve) } catch {
                    state.withLock { $0.gaps.fail(in: range) }
                }
                return step == .impossible && payment.largestWritten == nil ? .impossible : .more
            }
        }
        return payment.largestWritten == nil ? .done : try writeNext(holes, files)
    }

    /// Releases space that was reserved before the reservation failed.
    /// - Returns: whether all of it is released.
    private func releaseNext(of range: Range<UInt64>, _ gaps: Gaps, _ holes: Holes, _ files: WritableFiles) throws(Errno) -> Bool {
        let status = try Syscall.statx(holes.descriptor)
        var (end, released) = (range.upperBound, nil as (length: UInt64, nanoseconds: UInt64)?)
        if let hole = try holes.first(in: range.lowerBound..<max(min(range.upperBound, status.size), range.lowerBound)) {
            end = hole.upperBound
            if let piece = gaps.pieceToRelease(of: hole) {
                let began = SystemTime.monotonic()
                try files.times.preserve(of: key, status, holes.descriptor, isClose: false) { () throws(Errno) in
                    try allocate(piece, holes, AllocateFlag.keepSize | AllocateFlag.punchHole, false)
                }
                released = (piece.upperBound - piece.lowerBound, SystemTime.monotonic() - began)
                end = piece.upperBound
            }
        }
        return state.withLock { state in
            state.gaps.released(upTo: end, of: range, released)
            return state.gaps.failed == nil
        }
    }

    /// Writes zeros over one gap or a piece of it.
    private func writeNext(_ holes: Holes, _ files: WritableFiles) throws(Errno) -> FillStep {
        let (gaps, payment, hasWriter) = state.withLock { ($0.gaps, $0.payment, $0.writers > 0) }
        guard !hasWriter, let largest = payment.largestWritten else { return .hasWriter }
        let status = try Syscall.statx(holes.descriptor)
        if holes.areOfFileWithCapabilities { return .impossible }
        guard let hole = try holes.first(in: gaps.unfilled(status.size)) else { return .done }
        let (gap, isWritten) = gaps.toWrite(of: hole, largest: largest)
        guard isWritten else {
            state.withLock { $0.gaps.fill(upTo: gap.upperBound) }
            return .more
        }
        let length = min(gap.upperBound - gap.lowerBound, Self.largestPiece)
        guard files.spend(length, payment) else { return .overBudget }
        let count = try files.times.preserve(of: key, status, holes.descriptor, isClose: false) { () throws(Errno) in
            try run(payment.spendsRootReserve) { () throws(Errno) in
                try Syscall.pwrite(
                    holes.descriptor, UnsafeRawBufferPointer(rebasing: zeros[..<Int(length)]), offset: Int64(clamping: gap.lowerBound))
            }
        }
        guard count > 0 else { return .impossible }
        files.countWritten(count)
        let end = gap.lowerBound + UInt64(count)
        state.withLock { $0.gaps.fill(upTo: end, isInGap: end < gap.upperBound) }
        return .more
    }

    /// The bytes that the fill would still write. Call it under the exclusion.
    func unwritten(_ holes: Holes) -> UInt64 {
        var (gaps, largest) = state.withLock { ($0.gaps, $0.payment.largestWritten) }
        guard let largest, let size = try? Syscall.statx(holes.descriptor).size else { return 0 }
        var bytes: UInt64 = 0
        // Bounds the time of the request. The sum of the first gaps is enough.
        for _ in 0..<4096 {
            guard let hole = try? holes.first(in: gaps.unfilled(size)) else { break }
            let (gap, isWritten) = gaps.toWrite(of: hole, largest: largest)
            if isWritten { bytes += gap.upperBound - gap.lowerBound }
            gaps.fill(upTo: gap.upperBound)
        }
        return bytes
    }

    /// Whether the budget allows the next piece of so many bytes now.
    func maySpend(_ count: UInt64, _ files: WritableFiles) -> Bool {
        files.maySpend(count, state.withLock { $0.payment })
    }
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

    /// What another process needs of the files that handles can write.
    /// - Parameter nodes: by the keys of their objects.
    func save(_ nodes: [ObjectKey: UInt64]) -> [SavedWritableFile] {
        files.withLock { $0 }.values.compactMap { file in nodes[file.key].flatMap { file.save($0) } }
    }

    /// - Parameters:
    ///   - writers: the handles that can write.
    /// - Returns: the file, which the caller releases.
    func restore(_ saved: SavedWritableFile, _ key: ObjectKey, writers: Int) -> WritableFile {
        let writableFile = retain(key)
        writableFile.restore(saved, writers: writers)
        return writableFile
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
        files.withLock { $0[key] }?.isOpenForWriting ?? false
    }

    /// Charges the budget with zeros.
    /// - Returns: whether the budget allows them now.
    fileprivate func spend(_ count: UInt64, _ payment: GapPayment) -> Bool {
        if payment.budget == nil { return true }
        return spending.withLock { $0.spend(count, for: payment.user, of: payment.budget, now: SystemTime.monotonic()) }
    }

    fileprivate func maySpend(_ count: UInt64, _ payment: GapPayment) -> Bool {
        spending.withLock { spending in
            spending.allows(
                min(count, WritableFile.largestPiece), for: payment.user, of: payment.budget, now: SystemTime.monotonic())
        }
    }

    func countFileWithHoles() { leftWithHoles.add(1, ordering: .relaxed) }
    fileprivate func countWritten(_ bytes: Int) { writtenBytes.wrappingAdd(UInt64(bytes), ordering: .relaxed) }
    fileprivate func countReserved(from before: UInt64, to blocks: UInt64) {
        if blocks > before { reservedBytes.wrappingAdd((blocks - before) &* 512, ordering: .relaxed) }
    }
}
