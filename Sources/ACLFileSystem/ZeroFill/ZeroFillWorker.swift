import FuseSession
import LinuxSystem
import Synchronization

/// A file whose last writer has gone, and which may have gaps.
struct FillJob: Sendable {
    let growth: Growth
    /// O_PATH.
    let place: SharedDescriptor
    let files: GrowingFiles
    let dataPaths: DataPathTable
    /// Whether a mapping of the backing file may live on without a handle. Asked again whenever somebody had it open.
    let mayBeMapped: @Sendable () -> Bool
    /// Tells the kernel that blocks and times have changed.
    let changed: @Sendable () -> Void
    /// How often the file had been opened for writing at the last step.
    fileprivate var seen: UInt64?
    fileprivate var isRoomKnown = false
    /// While somebody else can write: when to look again.
    fileprivate var dueAt: UInt64 = 0
    fileprivate var pause: UInt64 = 0
    fileprivate var heldUpSince: UInt64 = 0
    /// What is left to be written while the budget is spent; 0: it is not.
    fileprivate var bytesOverBudget: UInt64 = 0

    init(
        growth: Growth, place: SharedDescriptor, files: GrowingFiles, dataPaths: DataPathTable,
        mayBeMapped: @escaping @Sendable () -> Bool,
        changed: @escaping @Sendable () -> Void
    ) {
        (self.growth, self.place, self.files, self.changed) = (growth, place, files, changed)
        self.dataPaths = dataPaths
        self.mayBeMapped = mayBeMapped
    }

    fileprivate var isHeldUp: Bool { pause > 0 }
    /// Who closed it.
    fileprivate var user: UInt32 { growth.state.withLock { $0.user } }

    /// Looks again after 1 ms, and up to a second later each time.
    fileprivate mutating func holdUp() {
        if !isHeldUp { heldUpSince = SystemTime.monotonic() }
        pause = min(max(pause * 2, 1_000_000), 1_000_000_000)
        dueAt = SystemTime.monotonic() + pause
    }

    /// Waits until the budget allows more. Nothing is held open for writing meanwhile.
    fileprivate mutating func waitForBudget(_ gaps: Gaps) {
        if bytesOverBudget == 0 { heldUpSince = SystemTime.monotonic() }
        bytesOverBudget = max(gaps.unwritten(growth), 1)
        var filling: SharedDescriptor?
        growth.state.withLock { state in
            filling = state.filling
            state.filling = nil
        }
        withExtendedLifetime(filling) {}
        lookAgainInASecond()
    }

    private mutating func lookAgainInASecond() {
        pause = 1_000_000_000
        dueAt = SystemTime.monotonic() + pause
    }
}

/// Writes zeros on a thread of its own, which lives while there is something to write. Files take turns.
final class ZeroFiller: Sendable {
    private struct State {
        var jobs: [FillJob] = []
        var isRunning = false

        var busy: Int { jobs.count { !$0.isHeldUp } }

        /// One held-up job too many gives way, of whom has most: his mappings are no reason for others' files to do without.
        mutating func removeOldestHeldUp() -> FillJob? {
            guard jobs.count - busy > ZeroFiller.most else { return nil }
            let held = jobs.indices.filter { jobs[$0].isHeldUp }
            let counts = Dictionary(held.map { (jobs[$0].user, 1) }, uniquingKeysWith: +)
            let theirs = held.filter { counts[jobs[$0].user] == counts.values.max() }
            guard let oldest = theirs.min(by: { jobs[$0].heldUpSince < jobs[$1].heldUpSince }) else { return nil }
            return jobs.remove(at: oldest)
        }
    }
    private let state = Monitor(State())
    private static let stepsAtOnce = 32
    /// That can be worked on; and as many that are held up. Each holds descriptors.
    private static let most = 256

    /// Whoever comes when there is enough to do works himself, for one turn: what is larger stays reserved.
    func add(_ job: FillJob) {
        if take(job) { return }
        guard let rest = work(on: job) else { return }
        rest.files.countLeft()
        rest.end(isFilled: true, always: true)
    }

    /// - Returns: whether it was taken.
    private func take(_ job: FillJob) -> Bool {
        state.withLock { state in
            guard state.busy < Self.most else { return false }
            state.jobs.append(job)
            if state.isRunning { return true }
            do throws(Errno) {
                _ = try Thread.start(name: "aclfs-zerofill") { self.run() }
                state.isRunning = true
                return true
            } catch {
                state.jobs.removeLast()
                return false
            }
        }
    }

    /// Files that wait or are being filled.
    var count: Int { state.withLock { $0.jobs.count } }

    /// Those of them that wait for the budget, and what is left to be written of them.
    var overBudget: (files: Int, bytes: UInt64) {
        state.withLock { state in
            let waiting = state.jobs.filter { $0.bytesOverBudget > 0 }
            return (waiting.count, waiting.reduce(0) { $0 &+ $1.bytesOverBudget })
        }
    }

    /// Waits until all is written that can be, but not for long: what is not written is reserved and reads as zero.
    func settle(milliseconds: UInt32) {
        let end = SystemTime.monotonic() + UInt64(milliseconds) * 1_000_000
        while state.withLock({ $0.jobs.contains { !$0.isHeldUp } }), SystemTime.monotonic() < end {
            SystemTime.sleep(milliseconds: 2)
        }
    }

    private enum Turn {
        case end
        case job(FillJob)
    }

    private func run() {
        while true {
            switch nextTurn() {
            case nil: continue
            case .end: return
            case .job(let job):
                let rest = work(on: job)
                // It stays in its place while it is worked on, so that it counts.
                let removed = state.withLock { state in
                    state.jobs.removeFirst()
                    if let rest { state.jobs.append(rest) }
                    return state.removeOldestHeldUp()
                }
                removed?.files.countLeft()
                removed?.end(isFilled: false, always: true)
            }
        }
    }

    /// The first file whose time has come, which then stands first; nil if none came to it while this waited.
    private func nextTurn() -> Turn? {
        let next = state.withLock { $0.jobs.map(\.dueAt).min() ?? 0 }
        return state.wait(until: next) { state in
            if state.jobs.isEmpty {
                state.isRunning = false
                return .end
            }
            let now = SystemTime.monotonic()
            guard let index = state.jobs.firstIndex(where: { $0.dueAt <= now }) else { return nil }
            state.jobs.swapAt(0, index)
            return .job(state.jobs[0])
        }
    }

    /// - Returns: what is left of the job.
    private func work(on job: FillJob) -> FillJob? {
        var job = job
        for _ in 0..<Self.stepsAtOnce {
            if job.growth.isWanted { SystemTime.sleep(milliseconds: 1) }
            var step = FillStep.impossible
            do throws(Errno) { step = try job.stepAlone() } catch {}
            switch step {
            case .more: continue
            case .heldUp, .overBudget: return job
            case .giveWay, .done, .impossible: break
            }
            if !job.end(isFilled: step != .giveWay) { continue }
            if step == .impossible { job.files.countLeft() }
            return nil
        }
        return job
    }
}

extension FillJob {
    /// Opens the file for writing as soon as nobody else can write, nor has a lease against writers. A mapping may be left
    /// of a handle that has gone: where the kernel maps the backing file itself, RELEASE does not wait for it.
    private mutating func openAlone(_ state: Growth.State) throws(Errno) -> SharedDescriptor? {
        seen = state.entered
        if let filling = state.filling { return filling }
        isRoomKnown = false
        if mayBeMapped() {
            let isOpen = try Syscall.isOpenForWriting(place.rawValue)
            if isOpen { return nil }
        }
        let opened: SharedDescriptor
        do throws(Errno) {
            opened = SharedDescriptor(
                try Syscall.reopen(place.rawValue, OpenFlag.readWrite | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
        } catch {
            // Somebody has a lease on it, which this breaks: he gives it up in his own time.
            guard error == .again else { throw error }
            return nil
        }
        growth.state.withLock { $0.filling = opened }
        pause = 0
        // What was read of a gap that is reserved is in the page cache, and would count as data.
        if state.oldEnd < state.closedEnd {
            try? Syscall.dropCached(
                opened.rawValue, offset: Int64(clamping: state.oldEnd), length: Int64(clamping: state.closedEnd - state.oldEnd))
        }
        return opened
    }

    /// One thread fills all files, so it never acts on one that a caller may hold.
    fileprivate mutating func stepAlone() throws(Errno) -> FillStep {
        guard growth.state.withLock({ $0.writers == 0 }) else { return .giveWay }
        if dataPaths.claim(growth.key, against: .any) {
            defer { dataPaths.unclaim(growth.key) }
            if let step = try growth.alone(within: 1_000_000_000, { () throws(Errno) in try step() }) { return step }
        }
        seen = growth.state.withLock { $0.entered }
        holdUp()
        return .heldUp
    }

    private mutating func step() throws(Errno) -> FillStep {
        let state = growth.state.withLock { $0 }
        guard state.writers == 0 else { return .giveWay }
        if bytesOverBudget > 0 {
            // Removed while it waited: its space is wanted back.
            guard try Syscall.statx(place.rawValue, flags: AtFlag.dontSync).nlink > 0 else {
                seen = state.entered
                return .done
            }
            // Unless there is more to do than to write, it is not opened in vain.
            if state.entered == seen, !files.maySpend(bytesOverBudget, state) {
                lookAgainInASecond()
                return .overBudget
            }
        }
        guard let descriptor = try openAlone(state) else {
            holdUp()
            return .heldUp
        }
        let gaps = Gaps(descriptor: descriptor.rawValue)
        // Nobody will see it again, and its space is wanted back.
        guard try Syscall.statx(descriptor.rawValue).nlink > 0 else { return .done }
        if let range = state.inVain {
            // close(2) has said that there is no room: the gap stays a hole.
            isRoomKnown = true
            growth.state.withLock { state in
                state.closedEnd = min(state.closedEnd, range.lowerBound)
                state.examinedEnd = min(state.examinedEnd, range.lowerBound)
            }
            try gaps.giveBackNext(growth, range, files)
            if growth.state.withLock({ $0.inVain == nil }) { files.countLeft() }
            return .more
        }
        // Written to after the last FLUSH, by who kept the file without a descriptor.
        let end = state.closedEnd
        if state.examinedEnd < end {
            if !isRoomKnown,
                try gaps.exceedRoom(in: state.examinedEnd..<end, state.leftAlone, forRoot: state.payerIsRoot)
            {
                files.countLeft()
                growth.state.withLock { $0.closedEnd = $0.examinedEnd }
                return .more
            }
            isRoomKnown = true
            let size = try Syscall.statx(descriptor.rawValue).size
            if state.examinedEnd < min(end, size) {
                var step = FillStep.more
                do throws(Errno) {
                    step = try gaps.reserveNext(growth, upTo: end, files, asRoot: state.payerIsRoot)
                } catch {
                    growth.reservedInVain(state.examinedEnd..<end)
                }
                if case .impossible = step, state.writtenUpTo != nil { return .more }
                return step == .impossible ? .impossible : .more
            }
        }
        guard state.writtenUpTo != nil else { return .done }
        let step = try gaps.writeNext(growth, files, asRoot: state.payerIsRoot)
        if step == .overBudget { waitForBudget(gaps) } else { bytesOverBudget = 0 }
        return step
    }

    /// - Parameters:
    ///   - isFilled: nothing is left to be done about its gaps.
    ///   - always: even if this job should go on.
    /// - Returns: false: somebody came and went since the last step. He made no job of his own, so this one goes on.
    @discardableResult
    fileprivate func end(isFilled: Bool, always: Bool = false) -> Bool {
        var filling: SharedDescriptor?
        let ends = growth.state.withLock { state in
            if !always, state.writers == 0, state.entered != seen { return false }
            filling = state.filling
            (state.filling, state.isQueued) = (nil, false)
            if isFilled, state.writers == 0 { state.hasGaps = false }
            return true
        }
        guard ends else { return false }
        withExtendedLifetime(filling) {}
        changed()
        files.drop(growth)
        return true
    }
}
